package job

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/circuit"
	"github.com/inquest-dev/inquest/internal/fork"
	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/kit/ratelimit"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// Worker holds the dependencies of the activities, and a worker's state between them.
type Worker struct {
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
	Rules       Rules       // nil: no remembered approvals, as in tests
	Circuits    Circuits    // nil: no circuit breaker, as in tests
	Clock       Clock       // nil: this machine's clock, as in tests
	Alerts      Alerts      // nil: no webhooks, as in tests
	Intake      Intake      // needed if Alerts is set
	Learnings   Learnings   // nil: no memory across investigations, as in tests
	Threads     Threads     // nil: conversations are not recorded, as in tests
	Embeddings  Embeddings  // nil: learnings are compared by their words
	Runbooks    Runbooks    // nil: no runbook is fetched, as in tests
	Servers     tool.Caller // MCP servers
	Sessions    Sessions    // nil: no session pool
	Times       Times       // nil: no call is known to be quick
	Heartbeats  Heartbeats  // nil: no heartbeats, as in tests
	People      People      // nil: the questions of tool servers are declined
	Builtins    Builtins
	Hooks       map[string]hook.Func // from the worker's program
	Mocks       map[string]hook.Mock
	Prompts     map[string]hook.Prompt
	Validator   *tool.Validator
	Policy      *tool.Policy
	// Abandoned is how long to wait for the result of a call that an attempt began within a workflow task and has not
	// reported on since; zero means 15 s.
	// Quick is how long a call may take within a workflow task; zero means 1 s.
	Abandoned, Quick time.Duration
	// Held is when both databases were last restored from a backup; zero means never. Calls that were requested earlier may have
	// been made already.
	Held time.Time
	// Replayed means that tools are answered from a recording: no call needs approval.
	Replayed bool
	// Store identifies the store behind the interfaces above.
	Store string
	// Belongs fails if another namespace has adopted the store. If nil, no check is made, as in tests.
	Belongs func(ctx context.Context) error
	// SearchAttributes reports whether the worker registered the search attributes at start.
	SearchAttributes bool
	Logger           *slog.Logger

	// The other fields are a worker's state between activities. Its zero value is ready to use.

	plans   kept[plan.Plan]
	Offers  kept[tool.Catalogue]
	Tapes   kept[fork.Tape]
	Maskers maskers

	Refused  refusedSchemas
	Windows  windows
	Troubles troubles
	known    knownTimes
	underway underway
}

// Requests reads a workflow's input from its first event.
type Requests interface {
	// Inputs returns all arguments, as JSON, and the identity of the sender according to Temporal.
	Inputs(ctx context.Context, workflowID, runID string) (inputs [][]byte, from string, err error)
	// Message returns the text of an accepted update "send".
	Message(ctx context.Context, workflowID, runID, updateID string) (string, error)
}

// Planner resolves a request to a plan, using the worker's configuration.
type Planner interface {
	// Any error of a method refuses the request, except record.ErrUnavailable, ErrTakesLong, and errors after ctx has
	// ended. data is the request's data as text.
	Plan(ctx context.Context, req agent.Request, data string) (plan.Plan, error)
	Conversation(ctx context.Context, req agent.ConversationRequest) (plan.Plan, error)
	// Scoring returns the stage that judges an investigation begun by this request.
	Scoring(ctx context.Context, req agent.Request, data string) (plan.Stage, error)
}

// Transcripts is the journal (internal/store has the exact semantics).
type Transcripts interface {
	Lookup(ctx context.Context, scope transcript.Scope, key transcript.Key, w transcript.Writer) ([]transcript.Entry, error)
	LookupReply(ctx context.Context, scope transcript.Scope, iteration int, w transcript.Writer) (transcript.Known, error)
	// Share copies entries to a fork. It does nothing if the fork has shared entries. The error is record.ErrChanged if there are more or
	// fewer than there must be.
	Share(ctx context.Context, sharing transcript.Sharing) error
	// LookupSince is LookupReply with only the log from an iteration on, and the system prompt.
	LookupSince(ctx context.Context, scope transcript.Scope, from, iteration int, w transcript.Writer) (transcript.Known, error)
	LookupCall(ctx context.Context, scope transcript.Scope, iteration, n int, w transcript.Writer) (transcript.Known, error)
	Begun(ctx context.Context, scope transcript.Scope, call transcript.Key, reply int64) (bool, error)
	// Missing returns the marks for which the investigation's transcript has no entry.
	Missing(ctx context.Context, investigation string, marks []transcript.Mark) ([]transcript.Mark, error)
	Append(ctx context.Context, step transcript.Step) ([]transcript.Entry, error)
	AppendReply(ctx context.Context, step transcript.Step) (stored []transcript.Entry, unread int, err error)
	Entries(ctx context.Context, scope transcript.Scope) ([]transcript.Entry, error)
	// EntriesSince is Entries with only the log from an iteration on, and the system prompt.
	EntriesSince(ctx context.Context, scope transcript.Scope, from int) ([]transcript.Entry, error)
	// After returns the entries of all executions of an investigation in the order they were written; limit 0 means all.
	After(ctx context.Context, investigation string, seq int64, limit int) ([]transcript.Entry, error)
	Reply(ctx context.Context, scope transcript.Scope, iteration int) (transcript.Entry, error)
	// WithArtifacts returns the results of an investigation that hold more than text.
	WithArtifacts(ctx context.Context, investigation string) ([]transcript.Entry, error)
	SetLive(ctx context.Context, live transcript.Live) error
	// HasLive reports whether this attempt at a reply, or a later one, has a live tail.
	HasLive(ctx context.Context, live transcript.Live) (bool, error)
	SaveCatalogue(ctx context.Context, scope transcript.Scope, catalogue tool.Catalogue) error
	Catalogues(ctx context.Context, scope transcript.Scope) (hashes []string, err error)
	// LastOffer is the catalogue that a server returned most recently, to any execution.
	LastOffer(ctx context.Context, server string) (tool.Catalogue, error)
}

// Records keeps the records that outlive Temporal's retention.
type Records interface {
	StartInvestigation(ctx context.Context, inv record.Investigation) error
	FinishInvestigation(ctx context.Context, inv record.Investigation) error
	Investigation(ctx context.Context, id string) (record.Investigation, error)
	// Same returns the investigations with the same fingerprint, as far as the records show.
	Same(ctx context.Context, inv record.Investigation, since time.Time) ([]record.Investigation, error)
	// ScheduleRuns returns the investigations that a schedule has started, except for one.
	ScheduleRuns(ctx context.Context, project string, of agent.Schedule, except string, since time.Time) (record.ScheduleRuns, error)
	StartExecution(ctx context.Context, exec record.Execution, run string) error
	// SetModel records that another model has taken over.
	SetModel(ctx context.Context, exec record.Execution) error
	// SaveStage also writes the investigation's envelope, unless that is nil.
	SaveStage(ctx context.Context, stage record.Stage, execs []record.Execution, envelope *record.Envelope) error
	// SaveExecution writes the execution of an agent that another agent dispatched.
	SaveExecution(ctx context.Context, exec record.Execution) error
	ReopenInvestigation(ctx context.Context, id, run string) error
	// SetWaiting records the open waits of a running investigation or a conversation.
	SetWaiting(ctx context.Context, w record.Waiting) error
	// Running returns the investigations that are running, or that ended without recording it.
	Running(ctx context.Context) ([]record.Investigation, error)
	// Audit adds acts that come with no other write to the audit trail, once per key. Anchor records the trail's current
	// end.
	Audit(ctx context.Context, acts ...audit.Act) error
	Anchor(ctx context.Context) (audit.Anchor, error)
	// CloseInvestigation records how such an investigation ended, unless it has recorded that itself meanwhile.
	CloseInvestigation(ctx context.Context, inv record.Investigation) (closed bool, err error)
	Stages(ctx context.Context, investigation string) ([]record.Stage, error)
	Executions(ctx context.Context, investigation string) ([]record.Execution, error)
	Scores(ctx context.Context, investigation string) ([]record.Score, error)
	BeginScore(ctx context.Context, r record.Score) (record.Score, error)
	SaveScore(ctx context.Context, r record.Score, by record.Execution) error
}

// Blobs stores content by its hash.
type Blobs interface {
	PutBlob(ctx context.Context, data []byte) (hash string, err error)
	Blob(ctx context.Context, hash string) ([]byte, error)
}

// Memories stores what agents have learned between runs.
type Memories interface {
	// Journal runs calls of memory tools in the same transaction that stores their results.
	Journal(ctx context.Context, batch memory.Batch, run func(tx memory.Tx, n int) (transcript.Body, error)) ([]transcript.Entry, error)
	// Blocks returns an agent's memory blocks. It creates any configured block that is missing.
	Blocks(ctx context.Context, agent string, configured []memory.Block) ([]memory.Block, error)
}

// Limits enforces rate limits across all workers.
type Limits interface {
	// Reserve takes a place in a rate-limit window. A positive wait means the window is full for that long.
	Reserve(ctx context.Context, r ratelimit.Reservation) (wait time.Duration, err error)
}

// Ledger tracks what investigations have used, across all workers.
type Ledger interface {
	// Admit reserves the estimated usage of a model call, or returns the bound that the call would exceed.
	Admit(ctx context.Context, a record.Admission) (exceeded agent.EndReason, err error)
	// Extend raises an investigation's bounds, once per key, and records that in the audit trail.
	Extend(ctx context.Context, investigation, key string, by plan.Extension, acts ...audit.Act) error
}

// Circuits holds each model's circuit breaker, shared by all workers and timed by one clock.
type Circuits interface {
	Circuit(ctx context.Context, key circuit.Key) (state circuit.State, now time.Time, err error)
	ChangeCircuit(ctx context.Context, key circuit.Key, fn func(state *circuit.State, now time.Time)) error
}

// Clock is the store's clock, which all workers share.
type Clock interface {
	Now(ctx context.Context) time.Time
}

// Now returns the time by the shared clock.
func (a *Worker) Now(ctx context.Context) time.Time {
	if a.Clock == nil {
		return time.Now()
	}
	return a.Clock.Now(ctx)
}

// Models makes the client for a provider.
type Models interface {
	Client(p plan.Provider, timeouts plan.Timeouts) (llm.Client, error)
}

// Times records how long calls of tools and models take, across all workers.
type Times interface {
	ToolTimes(ctx context.Context, name string) (tool.Times, error)
	// AddToolTimes adds one worker's measurements and returns the updated total.
	AddToolTimes(ctx context.Context, name string, seen tool.Times, calls int) (tool.Times, error)
}

// Sessions are the sessions that MCP servers keep for single executions.
type Sessions interface {
	// Open reports whether this worker has a session in which an execution can call a server at once.
	Open(server, session string) bool
	// End ends an execution's sessions on this worker. Sessions on other workers end when they are idle.
	End(session string)
}

// Builtins runs the tools that need no server.
type Builtins interface {
	Specs(plan plan.Agent) []tool.Spec
	Call(ctx context.Context, plan plan.Agent, call tool.Call) (tool.Result, error)
}

// refusedSchemas holds the schemas that models have refused, for the worker's lifetime. Supported features are checked
// beforehand, but no provider documents how complex a schema may be.
type refusedSchemas struct{ known sync.Map } // keys: schemaOf; values unused

type schemaOf struct{ provider, model, schema string }

// Has reports whether the provider has refused the schema.
func (r *refusedSchemas) Has(p *plan.Provider, c plan.Contract) bool {
	_, ok := r.known.Load(schemaOf{p.Name, p.Model, string(c.Schema)})
	return ok
}

// Add records that the provider has refused the schema.
func (r *refusedSchemas) Add(p *plan.Provider, c plan.Contract) {
	r.known.Store(schemaOf{p.Name, p.Model, string(c.Schema)}, nil)
}
