// Package activities holds every side effect of an investigation, one call
// each. An activity may run more than once; what it writes is a journal, so
// the second time finds what the first one did (design: durability rules 1–3).
package activities

import (
	"context"
	"log/slog"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/circuit"
	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/memory"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/ratelimit"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Activities is what the activities work with. Workflows use a nil pointer to
// it, to name them.
type Activities struct {
	Requests    Requests
	Runs        Runs
	Planner     Planner
	Transcripts Transcripts
	Mail        Mailbox
	Records     Records
	Blobs       Blobs
	Models      Models
	Memories    Memories
	Limits      Limits
	Ledger      Ledger
	Rules       Rules       // nil: people have remembered nothing, as in tests
	Circuits    Circuits    // nil: every model is always asked, as in tests
	Clock       Clock       // nil: this machine's, as in tests
	Alerts      Alerts      // nil: there are no webhooks, as in tests
	Intake      Intake      // with Alerts
	Servers     tool.Caller // MCP servers
	Sessions    Sessions    // nil: nobody is told
	Times       Times       // nil: nothing is known to be quick
	Heartbeats  Heartbeats  // nil: none, as in tests
	People      People      // nil: the questions of tool servers are declined
	Builtins    Builtins
	Hooks       map[string]hook.Func // of the worker's program
	Mocks       map[string]hook.Mock
	Prompts     map[string]hook.Prompt
	Validator   *tool.Validator
	Policy      *tool.Policy
	// Abandoned is how long the result is waited for of a call that an attempt has begun within
	// a workflow task, and of which nobody has heard since; 0 = 15 s.
	// Quick is how long a call may take within a workflow task; 0 = 1 s.
	Abandoned, Quick time.Duration
	// Store is the identity of the store behind them.
	Store string
	// Belongs refuses a store that another namespace has adopted; nil: none does, as in tests.
	Belongs func(ctx context.Context) error
	// SearchAttributes: the worker registered them at start.
	SearchAttributes bool
	Logger           *slog.Logger

	plans   kept[plan.Plan]
	offers  kept[tool.Catalogue]
	maskers maskers

	refused  refusedSchemas
	troubles troubles
	known    knownTimes
	underway underway
}

// Requests reads what a workflow was started with, from its first event.
type Requests interface {
	// Inputs returns all arguments, as JSON, and whom Temporal says they are from.
	Inputs(ctx context.Context, workflowID, runID string) (inputs [][]byte, from string, err error)
	// Message returns the text of an update "send" that a run has accepted.
	Message(ctx context.Context, workflowID, runID, updateID string) (string, error)
}

// Planner resolves a request to a plan, from the worker's configuration.
type Planner interface {
	// All refuse a request by any error but record.ErrUnavailable and ErrTakesLong, unless ctx has ended. data is the text of
	// the request's.
	Plan(ctx context.Context, req agent.Request, data string) (plan.Plan, error)
	Conversation(ctx context.Context, req agent.ConversationRequest) (plan.Plan, error)
	// Scoring says who judges an investigation that a request began.
	Scoring(ctx context.Context, req agent.Request, data string) (plan.Stage, error)
}

// Transcripts is the journal (internal/store has the exact semantics).
type Transcripts interface {
	Lookup(ctx context.Context, scope transcript.Scope, key transcript.Key, w transcript.Writer) ([]transcript.Entry, error)
	LookupReply(ctx context.Context, scope transcript.Scope, iteration int, w transcript.Writer) (transcript.Known, error)
	LookupCall(ctx context.Context, scope transcript.Scope, iteration, n int, w transcript.Writer) (transcript.Known, error)
	Begun(ctx context.Context, scope transcript.Scope, call transcript.Key, reply int64) (bool, error)
	// Missing returns the marks of entries that an investigation should have and does not.
	Missing(ctx context.Context, investigation string, marks []transcript.Mark) ([]transcript.Mark, error)
	Append(ctx context.Context, step transcript.Step) ([]transcript.Entry, error)
	AppendReply(ctx context.Context, step transcript.Step) (stored []transcript.Entry, unread int, err error)
	Entries(ctx context.Context, scope transcript.Scope) ([]transcript.Entry, error)
	// After returns the entries of all executions of an investigation, in the order in which they were written; limit 0 = all.
	After(ctx context.Context, investigation string, seq int64, limit int) ([]transcript.Entry, error)
	Reply(ctx context.Context, scope transcript.Scope, iteration int) (transcript.Entry, error)
	// WithArtifacts are the results of an investigation that hold more than text.
	WithArtifacts(ctx context.Context, investigation string) ([]transcript.Entry, error)
	SetLive(ctx context.Context, live transcript.Live) error
	// HasLive reports whether that attempt at a reply, or a later one, has a live tail.
	HasLive(ctx context.Context, live transcript.Live) (bool, error)
	SaveCatalogue(ctx context.Context, scope transcript.Scope, catalogue tool.Catalogue) error
	Catalogues(ctx context.Context, scope transcript.Scope) (hashes []string, err error)
	// LastOffer is what a server offered when it was last asked, by any execution.
	LastOffer(ctx context.Context, server string) (tool.Catalogue, error)
}

// Records keeps the picture that outlives Temporal's retention.
type Records interface {
	StartInvestigation(ctx context.Context, inv record.Investigation) error
	FinishInvestigation(ctx context.Context, inv record.Investigation) error
	Investigation(ctx context.Context, id string) (record.Investigation, error)
	// Same are investigations that one with a fingerprint is no other than, as far as records say.
	Same(ctx context.Context, inv record.Investigation, since time.Time) ([]record.Investigation, error)
	StartExecution(ctx context.Context, exec record.Execution, run string) error
	// SetModel records that another model has taken over.
	SetModel(ctx context.Context, exec record.Execution) error
	// SaveStage writes the envelope of the investigation, too; nil = it stays as it is.
	SaveStage(ctx context.Context, stage record.Stage, execs []record.Execution, envelope *record.Envelope) error
	// SaveExecution writes the execution of an agent that another one has dispatched.
	SaveExecution(ctx context.Context, exec record.Execution) error
	ReopenInvestigation(ctx context.Context, id, run string) error
	// SetWaiting says what an investigation that has not ended, or a conversation, waits for.
	SetWaiting(ctx context.Context, w record.Waiting) error
	// Running are the investigations that run, or ended without a word.
	Running(ctx context.Context) ([]record.Investigation, error)
	// Audit adds acts that come with no other write to the audit trail, once for their keys; Anchor marks how far it has come.
	Audit(ctx context.Context, acts ...audit.Act) error
	Anchor(ctx context.Context) (audit.Anchor, error)
	// CloseInvestigation says how one of those ended, unless it has said so meanwhile.
	CloseInvestigation(ctx context.Context, inv record.Investigation) (closed bool, err error)
	Stages(ctx context.Context, investigation string) ([]record.Stage, error)
	Executions(ctx context.Context, investigation string) ([]record.Execution, error)
	Scores(ctx context.Context, investigation string) ([]record.Score, error)
	BeginScore(ctx context.Context, r record.Score) (record.Score, error)
	SaveScore(ctx context.Context, r record.Score, by record.Execution) error
}

// Blobs keeps content by its hash.
type Blobs interface {
	PutBlob(ctx context.Context, data []byte) (hash string, err error)
	Blob(ctx context.Context, hash string) ([]byte, error)
}

// Memories keeps what agents learned between runs.
type Memories interface {
	// Journal runs calls of memory tools in one transaction with their results.
	Journal(ctx context.Context, batch memory.Batch, run func(tx memory.Tx, n int) (transcript.Body, error)) ([]transcript.Entry, error)
	// Blocks returns an agent's blocks; those of the configuration are made where they are absent.
	Blocks(ctx context.Context, agent string, configured []memory.Block) ([]memory.Block, error)
}

// Limits counts calls over all workers.
type Limits interface {
	// Reserve takes a place in a window; wait > 0 = there is none for so long.
	Reserve(ctx context.Context, r ratelimit.Reservation) (wait time.Duration, err error)
}

// Ledger is what investigations have used up, over all workers.
type Ledger interface {
	// Admit reserves what a model call needs, or says which bound it would exceed.
	Admit(ctx context.Context, a record.Admission) (exceeded agent.EndReason, err error)
	// Extend raises an investigation's bounds, once for a key, and tells the audit trail of it.
	Extend(ctx context.Context, investigation, key string, by plan.Extension, acts ...audit.Act) error
}

// Circuits is what all workers know of each model, by one clock.
type Circuits interface {
	Circuit(ctx context.Context, key circuit.Key) (state circuit.State, now time.Time, err error)
	ChangeCircuit(ctx context.Context, key circuit.Key, fn func(state *circuit.State, now time.Time)) error
}

// Clock is one that all workers share: that of their store.
type Clock interface {
	Now(ctx context.Context) time.Time
}

// now returns the time that other workers agree on.
func (a *Activities) now(ctx context.Context) time.Time {
	if a.Clock == nil {
		return time.Now()
	}
	return a.Clock.Now(ctx)
}

// Models makes the client for a provider.
type Models interface {
	Client(p plan.Provider, timeouts plan.Timeouts) (llm.Client, error)
}

// Times is how long the calls of tools and models take, on all workers.
type Times interface {
	ToolTimes(ctx context.Context, name string) (tool.Times, error)
	// AddToolTimes adds what a worker has seen, and returns what is then known.
	AddToolTimes(ctx context.Context, name string, seen tool.Times, calls int) (tool.Times, error)
}

// Sessions are those that MCP servers keep for single executions.
type Sessions interface {
	// Open reports whether this worker has a session in which an execution can call a server at once.
	Open(server, session string) bool
	// End ends an execution's sessions on this worker; those on others end when they are idle.
	End(session string)
}

// Builtins runs the tools that need no server.
type Builtins interface {
	Specs(plan plan.Agent) []tool.Spec
	Call(ctx context.Context, plan plan.Agent, call tool.Call) (tool.Result, error)
}
