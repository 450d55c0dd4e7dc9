// Package system has what everyone who uses a system of workers shares, whether through Temporal or through the HTTP API: the requests
// and answers, and the errors.
package system

import (
	"encoding/json"
	"time"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/strict"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/virtual"
	"github.com/inquest-dev/inquest/workflows"
)

// AgentInfo is an agent in a list.
type AgentInfo struct {
	Name        string        `json:"name"`
	Type        string        `json:"type"`
	Pattern     agent.Pattern `json:"pattern"`
	Description string        `json:"description,omitempty"`
	Source      string        `json:"source" enum:"config,virtual" doc:"virtual: created at run time; config: change it in the configuration"`
	Version     int           `json:"version,omitempty" doc:"current version of an agent created at run time"`
	Identity    string        `json:"identity" doc:"owner of the agent's memory: the agent's name, or NAME@PROJECT if created at run time"`
}

// AgentWhole is an agent together with its definition.
type AgentWhole struct {
	AgentInfo
	Project    string             `json:"project,omitempty"`
	By         string             `json:"by,omitempty" doc:"who created this version"`
	At         *time.Time         `json:"at,omitempty"`
	Deleted    bool               `json:"deleted,omitempty"`
	Definition virtual.Definition `json:"definition"`
	Chains     []string           `json:"chains" doc:"configured chains that use this agent"`
}

// AgentCopy holds the fields that differ in a copy. Absent fields stay as in the original.
type AgentCopy struct {
	NewName      string          `json:"new_name" minLength:"1" maxLength:"64"`
	Description  string          `json:"description,omitempty" maxLength:"10000" doc:"absent means 'Copy of' and the original's name"`
	SystemPrompt string          `json:"system_prompt,omitempty" maxLength:"100000"`
	Model        string          `json:"model,omitempty" maxLength:"500"`
	ToolConfig   json.RawMessage `json:"tool_config,omitempty" doc:"replaces the whole tool_config"`
}

// DeletedAgent is the result of deleting an agent.
type DeletedAgent struct {
	Name   string   `json:"name"`
	Chains []string `json:"chains" doc:"chains that use the agent; they cannot start until an agent with this name exists"`
}

// ToolList is a list of tools and of the problems with those that are missing.
type ToolList struct {
	Items    []ToolInfo `json:"items"`
	Troubles []string   `json:"troubles,omitempty" doc:"problems with servers and tools; returned only to operators of all projects"`
	Troubled int        `json:"troubled,omitempty" doc:"number of problems"`
}

// RunToolBody is a call of a tool.
type RunToolBody struct {
	Agent     string          `json:"agent,omitempty" maxLength:"200" doc:"agent whose tool policy applies; absent means the general policy"`
	Project   string          `json:"project,omitempty" maxLength:"63" doc:"project of the agent, if it was created at run time"`
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"arguments as a JSON object; absent means an empty object"`
	Approved  bool            `json:"approved,omitempty" doc:"set this to approve the call yourself, if it needs approval"`
}

// ToolResult is the result of a tool call.
type ToolResult struct {
	Content   string `json:"content"`
	IsError   bool   `json:"is_error,omitempty"`
	ErrorType string `json:"error_type,omitempty"`
}

// InForce is the configuration in force.
type InForce struct {
	YAML     string          `json:"yaml"`
	Values   []strict.Shown  `json:"values"`
	Findings config.Findings `json:"findings" doc:"dangerous or unusual settings anywhere in the configuration"`
}

// ActsPage is a page of the acts in an investigation.
type ActsPage struct {
	Items []audit.Act `json:"items"`
	Next  int64       `json:"next,omitempty" doc:"value of after for the next page; absent means no more entries yet"`
}

// Thread is a conversation in a list.
type Thread struct {
	ID     string `json:"id,omitempty"`
	Thread string `json:"thread"` // its workflow ID
	Agent  string `json:"agent,omitempty"`
	// Project owns the conversation; an empty string means the default project.
	Project string    `json:"project,omitempty"`
	Since   time.Time `json:"since"` // its start; in the list of open ones, that of its current run
	// The list of open conversations lacks the following fields.
	About  string    `json:"about,omitempty" doc:"ID of the investigation that the conversation is about"`
	Turns  int       `json:"turns,omitempty"`
	Active time.Time `json:"active,omitzero" doc:"when the last turn ended"`
	Closed bool      `json:"closed,omitempty"`
	// Usage is the conversation's usage so far. Absent means unknown.
	Usage agent.Usage `json:"usage,omitzero"`
}

// Talk is a conversation.
type Talk struct {
	ID      string `json:"id"`
	Thread  string `json:"thread"`
	Agent   string `json:"agent,omitempty"`
	Project string `json:"project"`
	Open    bool   `json:"open" doc:"true if the conversation accepts messages"`
	About   string `json:"about,omitempty" doc:"ID of the investigation that the conversation is about"`
	Turns   int    `json:"turns,omitempty"`
	// The times are absent for conversations from before they were recorded.
	Since  time.Time   `json:"since,omitzero"`
	Active time.Time   `json:"active,omitzero" doc:"when the last turn ended"`
	Ended  *time.Time  `json:"ended,omitempty"`
	Usage  agent.Usage `json:"usage,omitzero"`
}

// FoundTurn is a turn that a search found.
type FoundTurn struct {
	ID     string    `json:"id" doc:"ID of the conversation"`
	Thread string    `json:"thread"`
	Agent  string    `json:"agent"`
	Turn   int       `json:"turn"`
	Author string    `json:"author,omitempty" doc:"who sent the message; absent means a heartbeat"`
	At     time.Time `json:"at"`
	Text   string    `json:"text" doc:"excerpt of the turn around the first search word"`
}

// ThreadWhole is a conversation with all of its entries and whole texts.
type ThreadWhole struct {
	Talk
	Entries []transcript.Entry `json:"entries"`
}

// BeginBody is the first message of a conversation.
type BeginBody struct {
	Project  string `json:"project,omitempty" maxLength:"63" doc:"absent means project default, or your token's only project"`
	Agent    string `json:"agent" minLength:"1" maxLength:"200" doc:"name of the agent"`
	Provider string `json:"provider,omitempty" maxLength:"500" doc:"use this model instead of the agent's"`
	Text     string `json:"text" minLength:"1" maxLength:"100000"`
}

// SayBody is a further message of a conversation.
type SayBody struct {
	Text string `json:"text" minLength:"1" maxLength:"100000"`
}

// Spoken is the outcome of sending a message.
type Spoken struct {
	Thread string           `json:"thread"`
	Reply  *workflows.Reply `json:"reply,omitempty" doc:"the agent's reply; absent while the agent is still writing it"`
}

// Thing is a tool call or a question that needs a person's attention.
type Thing struct {
	Investigation string           `json:"investigation" doc:"ID of the investigation or conversation"`
	WorkflowID    string           `json:"workflow_id"`
	Project       string           `json:"project"`
	Conversation  bool             `json:"conversation,omitempty"`
	Kind          string           `json:"kind" doc:"approval, clarification, confirmation, agent_review or bound (a limit was reached)"`
	Name          string           `json:"name" doc:"value of call_id for decide, or of id for answer"`
	Expires       time.Time        `json:"expires,omitzero" doc:"when it expires; absent while the investigation is paused"`
	Approval      *record.Approval `json:"approval,omitempty"`
	Question      *record.Question `json:"question,omitempty"`
}

// Listed is an investigation in a list.
type Listed struct {
	record.Investigation
	About  string         `json:"about,omitempty" doc:"subject of the investigation, in one line"`
	Score  *int           `json:"score,omitempty" doc:"latest score, from 0 to 100"`
	Review *record.Review `json:"review,omitempty" doc:"state of the review; absent until the investigation has ended"`
}

// Listed returns what a list has of an investigation: no report, which would make the list large.
func (l Listing) Listed(r record.Investigation) Listed {
	r.Report = ""
	out := Listed{Investigation: r, About: l.About[r.ID], Review: l.Reviews[r.ID]}
	if score, ok := l.Scores[r.ID]; ok {
		out.Score = &score
	}
	return out
}

// Page is one page of a list.
type Page[T any] struct {
	Items []T `json:"items"`
	// Next is the cursor of the next page. An empty string means that this was the last one.
	Next string `json:"next,omitempty" doc:"value of cursor for the next page; absent means that this is the last page"`
}

// StartBody is the request to start an investigation.
type StartBody struct {
	Project    string          `json:"project,omitempty" maxLength:"63" doc:"absent means project default, or your token's only project"`
	Chain      string          `json:"chain,omitempty" doc:"name of the chain to run"`
	AlertType  string          `json:"alert_type,omitempty" doc:"alert type; selects the chain if chain is absent"`
	Data       json.RawMessage `json:"data,omitempty" doc:"what to investigate: text or any JSON"`
	AllowEmpty bool            `json:"allow_empty,omitempty" doc:"start even if data is empty, for chains that need no data"`
	Attach     bool            `json:"attach,omitempty" doc:"give agents only the first part of large data; they read the rest in pages"`
	Provider   string          `json:"provider,omitempty" doc:"model for every agent, instead of the configured ones"`
	Runbook    string          `json:"runbook,omitempty" doc:"runbook instead of the chain's: its text, or its https URL"`
	UseMock    bool            `json:"use_mock,omitempty" doc:"run the configured mocks instead of the agents"`
	MCP        agent.MCP       `json:"mcp,omitzero" doc:"restrict each agent to those of its tools that are listed here"`
	Budgets    agent.Budgets   `json:"budgets,omitzero" doc:"limits instead of the chain's; higher ones only if requests.budgets allows them"`

	Tenant      string            `json:"tenant,omitempty" doc:"tenant on whose behalf the investigation runs"`
	Session     string            `json:"session,omitempty" doc:"session that the investigation belongs to"`
	Priority    int               `json:"priority,omitempty" minimum:"0" maximum:"5" doc:"1 is the highest priority, 5 the lowest"`
	Fingerprint string            `json:"fingerprint,omitempty" doc:"requests with the same fingerprint share one investigation"`
	Metadata    map[string]string `json:"metadata,omitempty" doc:"your own key-value pairs"`
	Again       bool              `json:"again,omitempty" doc:"start a new investigation even if one with the same fingerprint exists"`
	Trial       bool              `json:"trial,omitempty" doc:"an experiment: nobody is notified or reviews it, nothing is learned from it"`
	Fork        *agent.Fork       `json:"fork,omitempty" doc:"continue another investigation from a place in it, with its chain and data"`
}

// Request returns the request without its data.
func (b StartBody) Request() agent.Request {
	return agent.Request{
		Chain: b.Chain, AlertType: b.AlertType, AllowEmpty: b.AllowEmpty, Attach: b.Attach, Provider: b.Provider, Runbook: b.Runbook,
		UseMock: b.UseMock, Again: b.Again, Trial: b.Trial, Fork: b.Fork, Overrides: agent.Overrides{MCP: b.MCP, Budgets: b.Budgets},
		Labels: agent.Labels{
			Project: b.Project, Tenant: b.Tenant, Session: b.Session, Priority: b.Priority, Fingerprint: b.Fingerprint, Metadata: b.Metadata,
		},
	}
}

// Started identifies an investigation.
type Started struct {
	ID         string `json:"id"`
	WorkflowID string `json:"workflow_id"`
	Project    string `json:"project"`
	Known      bool   `json:"known,omitempty" doc:"the investigation existed already: same idempotency key or fingerprint"`
}

// Whole is an investigation with everything except its transcript.
type Whole struct {
	Investigation record.Investigation `json:"investigation"`
	Stages        []record.Stage       `json:"stages"`
	Executions    []record.Execution   `json:"executions"`
	Scores        []record.Score       `json:"scores"`
	Ratings       []record.Rating      `json:"ratings,omitempty" doc:"people's ratings, oldest first"`
	Review        *record.Review       `json:"review,omitempty" doc:"state of the review; absent until the investigation has ended"`
	Brief         *Brief               `json:"brief,omitempty" doc:"the most important parts of the report, if it has them"`
	Advice        string               `json:"advice,omitempty" doc:"what to do about a failure or a limit, in one line of Markdown"`
	Status        *workflows.Status    `json:"status,omitempty" doc:"status of an ended investigation"`
	Forks         []string             `json:"forks,omitempty" doc:"IDs of the investigations that were forked from this one, oldest first"`
	// UnknownCalls is client.Whole.UnknownCalls.
	UnknownCalls []transcript.UnknownCall `json:"unknown_calls,omitempty" doc:"tool calls with an unknown outcome: they may have taken effect"`
}

// Standing is the current state of an investigation.
type Standing struct {
	workflows.Status
	Agents map[string]workflows.AgentStatus `json:"agents,omitempty" doc:"what each running agent is doing, by workflow ID"`
}

// Complete reports whether the fields that the API always sets are set. An answer without them comes from some other program.
func (p Page[T]) Complete() bool { return p.Items != nil }

// Complete is as Page.Complete.
func (s Started) Complete() bool { return s.ID != "" }

// Complete is as Page.Complete.
func (n Named) Complete() bool { return n.ID != "" }

// Complete is as Page.Complete.
func (w Whole) Complete() bool { return w.Investigation.ID != "" }

// Complete is as Page.Complete.
func (s Spoken) Complete() bool { return s.Thread != "" }

// Complete is as Page.Complete.
func (t Talk) Complete() bool { return t.ID != "" }

// Target selects one stage or one agent. Without either it means everything that is running.
type Target struct {
	Stage string `json:"stage,omitempty" maxLength:"200"`
	Agent string `json:"agent,omitempty" maxLength:"200"`
}

// GuideBody is text for the agents.
type GuideBody struct {
	Text string `json:"text" minLength:"1" maxLength:"16384" doc:"the text, at most 16384 bytes"`
	Target
}

// SleepBody is a pause of heartbeats.
type SleepBody struct {
	Minutes *int `json:"minutes,omitempty" minimum:"1" maximum:"60"`
	Target
}

// Steered is the outcome of a signal.
type Steered struct {
	ID     string       `json:"id"`
	For    []string     `json:"for" doc:"running agents that receive the signal"`
	Signal bool         `json:"signal,omitempty" doc:"true if no worker responded; the signal is delivered later"`
	Was    agent.Status `json:"was,omitempty"`
}

// Named identifies an investigation.
type Named struct {
	ID string `json:"id"`
}

// DecideBody is a decision on a tool call.
type DecideBody struct {
	CallID   string `json:"call_id" maxLength:"1000" doc:"name of the tool call in the inbox"`
	Approved *bool  `json:"approved,omitempty" doc:"true approves, false denies; absent if ask or hand_to is set"`
	// For Arguments, Ask and HandTo see workflows.Decide.
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"arguments for the approved call, instead of the agent's"`
	Ask       string          `json:"ask,omitempty" maxLength:"1000" doc:"a question for the agent; the call is not made"`
	HandTo    string          `json:"hand_to,omitempty" maxLength:"200" doc:"group, role or @name that must decide instead of you"`
	Reason    string          `json:"reason,omitempty" maxLength:"1000"`
	Digest    string          `json:"digest,omitempty" maxLength:"200" doc:"digest of the call that you saw; a changed call is refused"`
}

// Decided is a tool call that a person has approved or denied.
type Decided struct {
	ID   string `json:"id"`   // the workflow's ID
	Call string `json:"call"` // see record.Approval.Name
	Tool string `json:"tool"`
	activities.Decision
}

// AnswerBody is an answer to a question.
type AnswerBody struct {
	ID       string          `json:"id,omitempty" maxLength:"1000" doc:"ID of the question; absent means the only pending one"`
	Text     string          `json:"text,omitempty" maxLength:"8192" doc:"text, decision and data together have at most 8192 bytes as JSON"`
	Approved *bool           `json:"approved,omitempty"`
	Decision string          `json:"decision,omitempty" maxLength:"1000"`
	Data     json.RawMessage `json:"data,omitempty"`
}

// ExtendBody is the increase of the limits.
type ExtendBody struct {
	plan.Extension
	Duration string `json:"duration,omitempty" maxLength:"40" doc:"additional time, such as 30m or 1h30m"`
}

// Entries is a part of a transcript.
type Entries struct {
	Entries  []transcript.Entry `json:"entries"`
	Next     int64              `json:"next,omitempty" doc:"value of after for the next page; absent means no more entries yet"`
	Previous int64              `json:"previous,omitempty" doc:"value of before for the previous page; absent means the first page"`
}
