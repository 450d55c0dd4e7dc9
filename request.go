package inquest

import (
	"cmp"
	"encoding/json"
	"errors"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
)

// Request is what is to be investigated.
type Request struct {
	// WorkflowID is that of the investigation in Temporal; "" = the chain's or alert type's
	// name and a random part. One that is in use is an error.
	WorkflowID string
	// Chain or AlertType says which chain runs; one of them is enough. Without either it is
	// that of defaults.alert_type, and where there is none, a worker refuses.
	Chain, AlertType string
	// Data is a text, of any size where the store is at hand. It is masked before it
	// leaves this process.
	Data string
	// AllowEmpty starts without data, for a chain that needs none.
	AllowEmpty bool
	// Attach takes data that is larger than system.limits.data: agents are shown its
	// beginning and read the rest in pages.
	Attach bool
	// Provider is the model of every agent: a provider's name, or "provider:model"; "" = theirs.
	Provider string
	// Runbook stands in for the chain's.
	Runbook string
	// UseMock lets the agents' mocks work in their place.
	UseMock bool
	// RequestedBy is who asks; "" = the client's By.
	RequestedBy string
	// Servers are the MCP servers that the agents may use, of those that the configuration gives them
	// or lets requests give them; nil = each agent's own.
	Servers []ServerTools
	// NativeTools are switched on and off: google_search, url_context, code_execution.
	NativeTools map[string]bool
	// Budgets bound the investigation. Of the chain's and these the stricter hold, unless the
	// configuration lets requests raise them.
	Budgets RequestBudgets
	// Priority is Temporal's, from 1, which goes first, to 5; 0 = 3.
	Priority int
	// Tenant is for whom it is, Session what it belongs to: lists are filtered by them.
	Tenant, Session string
	// Metadata are kept with it, at most 4 KB as JSON; hooks and prompts may read them.
	Metadata map[string]string
	// Fingerprint is the same for all requests that ask for the same, of which one at a time is
	// investigated; "" = what the chain's dedup says. Again investigates all the same.
	Fingerprint string
	Again       bool
}

// ServerTools are tools of an MCP server; none named = all.
type ServerTools struct {
	Name  string
	Tools []string
}

// RequestBudgets bound an investigation; 0 = the chain's own.
type RequestBudgets struct {
	MaxPasses, MaxLLMCalls, MaxAgentHops, MaxTokensTotal int
	MaxCostUSD                                           float64
	MaxDuration                                          time.Duration
}

// Status is where an investigation stands. The words that are statuses, outcomes and
// reasons are those of the README.
type Status struct {
	ID, Chain string
	Status    string
	EndReason string // "" = it runs
	Error     string
	// RequestedBy, Tenant, Session and Metadata are those of the request, masked.
	RequestedBy, Tenant, Session string
	Metadata                     map[string]string
	// WaitingFor says whom or what it waits for.
	WaitingFor string
	// Stages are those that have run or run, in their order, and then those that have not.
	Stages []StageStatus
	Usage  Usage
	// Calls and Questions wait for people: Decide and Answer.
	Calls     []WaitingCall
	Questions []Question
}

// StageStatus is where a run of a stage stands.
type StageStatus struct {
	Name, Status, Error string
	Agents              []AgentStatus
}

// AgentStatus is where an agent of a stage stands.
type AgentStatus struct {
	Name, Status, Error string
	Model               string
	Iterations          int
	Usage               Usage
}

// Usage is what has been used; the zero value = not known.
type Usage struct {
	InputTokens, OutputTokens int
	ModelCalls, ToolCalls     int
	CostUSD                   float64 // of models whose prices are known
	// These are parts of the input, and ReasoningTokens of the output.
	CacheReadTokens, CacheWriteTokens int
	ReasoningTokens, ImageTokens      int
}

// WaitingCall is a tool call that waits for a person.
type WaitingCall struct {
	Name string // what Decide is given
	Tool string
	Risk string
	// Arguments are JSON, masked: Hidden bytes of them are not shown.
	Arguments string
	Hidden    int
	// Digest is that of the whole call: given to Decide, it decides no other one.
	Digest  string
	Expires time.Time // then it counts as denied; zero while it is paused
}

// Question is what an investigation asks people.
type Question struct {
	ID, Kind, Stage, Text string
	Data                  json.RawMessage // that goes with it; nil = none
	Expires               time.Time       // zero while it is paused
}

// Ending is how an investigation ended.
type Ending struct {
	ID, Status, EndReason, Error string
	Report                       string
	Summary                      string // the executive summary; "" = there is none
	Usage                        Usage
	// Undelivered says what people asked for and said that reached nobody.
	Undelivered []string
}

// Event is one thing that happened in an investigation: an entry of its transcript, a new
// Status, or its Ending, which is the last. Two of the three are nil.
type Event struct {
	Entry  *Entry
	Status *Status
	Ending *Ending
}

// Entry is a row of the transcript: a prompt, a reply, a call, its result.
type Entry struct {
	Seq       int64  // from 1, without gaps
	Execution string // "<stage>/<agent>"
	Iteration int
	Kind      string // system, user, reply, call, result, summary, try, fallback or notice
	At        time.Time
	Text      string
	// Tool and Arguments are those of a call or its result.
	Tool, Arguments string
	// Superseded: Temporal was reset, and what the entry says is done again.
	Superseded bool
}

func statusOf(s client.Status) *Status {
	out := &Status{
		ID: s.ID, Chain: s.Chain, Status: string(s.Status.Status), EndReason: string(s.EndReason), Error: s.Error, WaitingFor: s.WaitingFor,
		RequestedBy: s.By, Tenant: s.Tenant, Session: s.Session, Metadata: s.Metadata,
		Usage: Usage(s.Usage),
	}
	for _, stage := range s.Stages {
		to := StageStatus{Name: stage.Name, Status: string(stage.Status), Error: stage.Error}
		for _, a := range stage.Agents {
			to.Agents = append(to.Agents, AgentStatus{
				Name: a.Name, Status: string(a.Status), Error: a.Error, Model: a.Model, Iterations: a.Iterations, Usage: Usage(a.Usage),
			})
		}
		out.Stages = append(out.Stages, to)
	}
	for _, a := range s.Waiting {
		out.Calls = append(out.Calls, WaitingCall{
			Name: a.Name(), Tool: a.Tool, Risk: string(a.Risk), Arguments: a.Arguments, Hidden: a.Hidden,
			Digest: a.Digest, Expires: a.Expires,
		})
	}
	for _, q := range s.Questions {
		asked := Question{ID: q.ID, Kind: q.Kind, Stage: q.Stage, Text: q.Question, Data: q.Data, Expires: q.Expires}
		out.Questions = append(out.Questions, asked)
	}
	return out
}

func endingOf(r client.Result) *Ending {
	return &Ending{
		ID: r.ID, Status: string(r.Status), EndReason: string(r.EndReason), Error: r.Error,
		Report: r.Report, Summary: r.Summary, Usage: Usage(r.Usage), Undelivered: r.Undelivered,
	}
}

// MarshalJSON writes the input of the workflow Investigation, for programs that start it with a Temporal client of
// their own. The data is not masked before it reaches a worker.
func (r Request) MarshalJSON() ([]byte, error) {
	s, err := r.start("")
	if err != nil {
		return nil, err
	}
	if s.Data != "" {
		if s.Request.Data, err = json.Marshal(s.Data); err != nil {
			return nil, err
		}
	}
	return json.Marshal(s.Request)
}

func (r Request) start(by string) (client.Start, error) {
	b := r.Budgets
	req := agent.Request{
		Chain: r.Chain, AlertType: r.AlertType, Provider: r.Provider, Runbook: r.Runbook,
		UseMock: r.UseMock, AllowEmpty: r.AllowEmpty, Attach: r.Attach, By: cmp.Or(r.RequestedBy, by), Again: r.Again,
		Labels: agent.Labels{Tenant: r.Tenant, Session: r.Session, Priority: r.Priority, Fingerprint: r.Fingerprint, Metadata: r.Metadata},
	}
	req.Budgets = agent.Budgets{
		MaxPasses: b.MaxPasses, MaxLLMCalls: b.MaxLLMCalls, MaxAgentHops: b.MaxAgentHops, MaxTokensTotal: b.MaxTokensTotal,
		MaxCostUSD: b.MaxCostUSD,
	}
	if b.MaxDuration != 0 {
		req.Budgets.MaxDuration = b.MaxDuration.String()
	}
	for _, s := range r.Servers {
		req.MCP.Servers = append(req.MCP.Servers, agent.MCPServer(s))
	}
	var wrong error
	for name, on := range r.NativeTools {
		wrong = errors.Join(wrong, req.MCP.NativeTools.Set(name, on))
	}
	return client.Start{Workflow: r.WorkflowID, Data: r.Data, Request: req}, wrong
}

// Target is whom words are for: one run of a stage, one agent; the zero value = all.
type Target struct{ Stage, Agent string }

// Verdict is what a person says to a call that waits.
type Verdict struct {
	Approve bool
	Reason  string // the agent is told
	// Digest is that of the call that was seen: another one is refused; "" = whichever waits.
	Digest string
}

// Response is what a person says to a question: what its kind asks for.
type Response struct {
	Question string // its ID; "" = the only one that waits
	Text     string
	Approved *bool
	Decision string
	Data     json.RawMessage
}

// Extension is what is added to the bounds of an investigation.
type Extension struct {
	LLMCalls, Tokens int
	CostUSD          float64
	Duration         time.Duration
}

// Reply is what an agent says in a conversation.
type Reply struct {
	Text       string
	StopReason string // "end_turn", if nothing stopped it
	Iterations int
	Usage      Usage // of this turn
}
