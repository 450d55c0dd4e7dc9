package inquest

import (
	"cmp"
	"encoding/json"
	"errors"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// Request describes what to investigate.
type Request struct {
	// WorkflowID is the investigation's workflow id in Temporal. An empty string means the name of the chain or alert
	// type and a random suffix. An id that is in use is an error.
	WorkflowID string
	// Chain or AlertType selects the chain; one of them is enough. With neither, defaults.alert_type applies, and a
	// worker refuses the request if that is not set either.
	Chain, AlertType string
	// Data is text, of any size if the store can be reached. It is masked before it leaves this process.
	Data string
	// AllowEmpty allows a start without data, for a chain that needs none.
	AllowEmpty bool
	// Attach accepts data that is larger than system.limits.data. Agents see its beginning and read the rest in pages.
	Attach bool
	// Provider sets the model of every agent: a provider's name, or "provider:model". An empty string keeps the agents'
	// own.
	Provider string
	// Runbook replaces the chain's runbook. It is text, or the https URL of a text: see docs/how-to/use-runbooks.md.
	Runbook string
	// UseMock runs the agents' mocks instead of the agents.
	UseMock bool
	// RequestedBy names the requesting user. An empty string means the client's By.
	RequestedBy string
	// Servers are the MCP servers that the agents may use, out of those that the configuration gives them or allows
	// requests to give them. Nil means each agent's own servers.
	Servers []ServerTools
	// NativeTools turns native tools on and off: google_search, url_context, code_execution.
	NativeTools map[string]bool
	// Budgets limit the investigation. The stricter of these and the chain's apply, unless the configuration lets
	// requests raise them.
	Budgets RequestBudgets
	// Priority is Temporal's priority, from 1 (first) to 5. Zero means 3.
	Priority int
	// Tenant is the tenant that the investigation is for, and Session the session it belongs to. Lists can be filtered
	// by both.
	Tenant, Session string
	// Metadata is kept with the investigation, at most 4 KB as JSON. Hooks and prompts can read it.
	Metadata map[string]string
	// Fingerprint identifies equal requests. Only one of them is investigated at a time. An empty string means the
	// chain's dedup setting. Again starts the investigation regardless.
	Fingerprint string
	Again       bool
}

// ServerTools selects tools of an MCP server. No names means all of them.
type ServerTools struct {
	Name  string
	Tools []string
}

// RequestBudgets limit an investigation. A zero field means the chain's own limit.
type RequestBudgets struct {
	MaxPasses, MaxLLMCalls, MaxAgentHops, MaxTokensTotal int
	MaxCostUSD                                           float64
	MaxDuration                                          time.Duration
}

// Status is the state of an investigation. docs/reference/investigations.md explains the statuses, outcomes and
// reasons.
type Status struct {
	ID, Chain string
	Status    string
	EndReason string // empty while it runs
	Error     string
	// RequestedBy, Tenant, Session and Metadata come from the request, masked.
	RequestedBy, Tenant, Session string
	Metadata                     map[string]string
	// WaitingFor describes the reason for waiting.
	WaitingFor string
	// Stages holds the stages that have run or are running, in order, and then those that have not started.
	Stages []StageStatus
	Usage  Usage
	// Calls and Questions are waiting for people: see Decide and Answer.
	Calls     []WaitingCall
	Questions []Question
}

// StageStatus is the state of one run of a stage.
type StageStatus struct {
	Name, Status, Error string
	Agents              []AgentStatus
}

// AgentStatus is the state of an agent in a stage.
type AgentStatus struct {
	Name, Status, Error string
	Model               string
	Iterations          int
	Usage               Usage
}

// Usage holds amounts used. The zero value means unknown.
type Usage struct {
	InputTokens, OutputTokens int
	ModelCalls, ToolCalls     int
	CostUSD                   float64 // of models with known prices
	// The cache and image tokens are parts of the input; ReasoningTokens is part of the output.
	CacheReadTokens, CacheWriteTokens int
	ReasoningTokens, ImageTokens      int
}

// WaitingCall is a tool call that waits for a decision.
type WaitingCall struct {
	Name string // the argument of Decide
	Tool string
	Risk string
	// Arguments are JSON, masked. Hidden is the number of bytes left out.
	Arguments string
	Hidden    int
	// Digest identifies the whole call. Pass it to Decide so that the decision applies to no other call.
	Digest  string
	Expires time.Time // the call is denied at this time; zero while paused
}

// Question is a question that an investigation asks people.
type Question struct {
	ID, Kind, Stage, Text string
	Data                  json.RawMessage // accompanying data, or nil
	Expires               time.Time       // zero while paused
}

// Ending is the result of an investigation.
type Ending struct {
	ID, Status, EndReason, Error string
	Report                       string
	Summary                      string // the executive summary, or empty
	Usage                        Usage
	// Caveats name the evidence that the report lacks: the tool servers that an agent never had, or no tool's result at all.
	Caveats []string
	// Undelivered lists requests and guidance from people that reached no agent.
	Undelivered []string
}

// Event is one thing that happened in an investigation: a transcript entry, a new Status, or the Ending, which comes
// last. The other two fields are nil.
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
	// Superseded means that Temporal was reset and the work of this entry is done again.
	Superseded bool
}

func statusOf(s system.Status) *Status {
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

func endingOf(r system.Result) *Ending {
	return &Ending{
		ID: r.ID, Status: string(r.Status), EndReason: string(r.EndReason), Error: r.Error,
		Report: r.Report, Summary: r.Summary, Usage: Usage(r.Usage), Undelivered: r.Undelivered,
		Caveats: record.Envelope{NotChecked: r.NotChecked, NoToolResult: r.NoToolResult}.Caveats(),
	}
}

// MarshalJSON returns the input of the Investigation workflow, for programs that start it with their own Temporal
// client. The data is not masked before it reaches a worker.
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

func (r Request) start(by string) (system.Start, error) {
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
	return system.Start{Workflow: r.WorkflowID, Data: r.Data, Request: req}, wrong
}

// Target selects one run of a stage, or one agent. The zero value selects all.
type Target struct{ Stage, Agent string }

// Verdict is a person's decision on a pending call.
type Verdict struct {
	Approve bool
	Reason  string // passed to the agent
	// Digest is that of the call that the person saw; a different call is then refused. An empty string accepts any
	// call of that name.
	Digest string
}

// Response is a person's answer to a question. The question's kind decides which fields are needed.
type Response struct {
	Question string // its ID; empty means the only open question
	Text     string
	Approved *bool
	Decision string
	Data     json.RawMessage
}

// Extension is what to add to the limits of an investigation.
type Extension struct {
	LLMCalls, Tokens int
	CostUSD          float64
	Duration         time.Duration
}

// Reply is an agent's reply in a conversation.
type Reply struct {
	Text       string
	StopReason string // "end_turn" if nothing stopped it
	Iterations int
	Usage      Usage // of this turn
}
