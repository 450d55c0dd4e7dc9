package system

import (
	"context"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/artifact"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
	"github.com/inquest-dev/inquest/internal/virtual"
	"github.com/inquest-dev/inquest/workflows"
)

// The interfaces below are what commands and other users do with a system. internal/client implements them with Temporal and the store,
// and internal/face/remote with the HTTP API.

// Starter starts, finds and follows investigations.
type Starter interface {
	Start(ctx context.Context, s Start) (Handle, error)
	Find(ctx context.Context, id string) (Handle, error)
	// Resolve completes an ID from a prefix. Meant adds to an error the IDs that start with one that is unknown.
	Resolve(ctx context.Context, id string) (string, error)
	Meant(ctx context.Context, id string, unknown error) error
	// Follow calls fn with the entries after a sequence number, then with whatever happens, until the investigation has ended.
	Follow(ctx context.Context, h Handle, after int64, fn func(Event) error) (Result, error)
	Await(ctx context.Context, h Handle) (Result, error)
}

// Reader reads the records of investigations.
type Reader interface {
	List(ctx context.Context, f record.Filter) (Listing, error)
	Status(ctx context.Context, id string) (Status, error)
	// Outcome is Whole without entries and questions.
	Outcome(ctx context.Context, id string) (Record, error)
	Whole(ctx context.Context, id string) (Record, error)
	Evidence(ctx context.Context, r Record) (evidence.Evidence, error)
	// Plan returns what the investigation was started with: record.ErrNotFound means that it has no plan.
	Plan(ctx context.Context, r Record) (plan.Plan, error)
	Artifacts(ctx context.Context, id string) ([]artifact.Artifact, error)
	Artifact(ctx context.Context, ref string) ([]byte, error)
	// Text replaces the beginning of a long text with the whole text, which ref names. An empty ref means that it is whole already.
	Text(ctx context.Context, text *string, ref string) error
	Acts(ctx context.Context, f record.ActFilter, fn func(audit.Act) error) error
}

// Decider shows what needs people, and takes their decisions.
type Decider interface {
	Waiting(ctx context.Context, id string) ([]record.Waiting, error)
	// Fate describes the outcome of a call or question that is no longer pending. An empty string means unknown.
	Fate(ctx context.Context, id, name string) string
	Decide(ctx context.Context, id string, d workflows.Decide) (Decided, error)
	Answer(ctx context.Context, id string, a workflows.Answer) (workflows.Interrupt, error)
}

// Steerer steers and scores investigations.
type Steerer interface {
	// Steer sends one of Signals.
	Steer(ctx context.Context, id, name string, payload any) (Steered, error)
	Extend(ctx context.Context, id string, e workflows.ExtendBudget) (workflows.Budget, error)
	CancelAs(ctx context.Context, id string, who agent.Identity) (Handle, error)
	// Score starts judging an investigation, and Wait waits for the score.
	Score(ctx context.Context, id, by string) (Judging, error)
	Wait(ctx context.Context, j Judging) (record.Score, error)
}

// Talker holds conversations with agents.
type Talker interface {
	Threads(ctx context.Context, agent string, limit int) ([]Thread, error)
	FindThread(ctx context.Context, thread string) (h Handle, agent string, err error)
	// Say sends a message and waits for the reply. accepted, unless nil, is called once a worker has accepted the message.
	Say(ctx context.Context, w Words, accepted func(thread string)) (workflows.Reply, error)
	Conclude(ctx context.Context, thread, by string) error
	CloseThread(ctx context.Context, thread string) error
}

// Maker changes the agents that are made at run time.
type Maker interface {
	VirtualVersions(ctx context.Context, project, name string) ([]virtual.Agent, error)
	CreateAgent(ctx context.Context, e AgentEdit, definition []byte) (virtual.Agent, error)
	ChangeAgent(ctx context.Context, e AgentEdit, definition []byte) (virtual.Agent, error)
	CopyAgent(ctx context.Context, e AgentEdit, copied AgentCopy) (virtual.Agent, error)
}

// Judging is an investigation that is being judged.
type Judging struct {
	ID string // the investigation's ID
	// Before is the previous number of scores, for callers that do not ask Temporal for the new one.
	Before int
	Run    string // ID of the judging workflow's run; empty for such callers
}

// Words are a person's message in a conversation.
type Words struct {
	Thread, Text, By string
	// ID is an idempotency key. Repeating a message with the same ID returns the reply to the first. An empty string makes a new message.
	ID string
	// Agent and Provider begin a conversation if none is open. An empty Agent means that one must be open.
	Agent, Provider string
	// Project owns the new conversation; an empty string means the default project.
	Project string
}

// AgentRules are a configuration's rules for agents made at run time.
type AgentRules interface {
	// Owns reports whether the configuration has an agent with this name.
	Owns(name string) bool
	CheckVirtual(a virtual.Agent, knownTools []string) virtual.Problems
}

// AgentEdit is a change to an agent in a project.
type AgentEdit struct {
	Project, Name, By string
	// Channel is how By sent the change, for the audit log.
	Channel string
	// After is the version to change. Zero means the last one.
	After int
	Rules AgentRules
	// Tools are the known tool names. They lack the tools of servers that did not answer.
	Tools []string
}
