// Package activities holds every side effect of an investigation, one call
// each. An activity may run more than once; what it writes is a journal, so
// the second time finds what the first one did (design: durability rules 1–3).
package activities

import (
	"context"
	"log/slog"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Activities is what the activities work with. Workflows use a nil pointer to
// it, to name them.
type Activities struct {
	Requests    Requests
	Planner     Planner
	Transcripts Transcripts
	Records     Records
	Blobs       Blobs
	Models      Models
	Servers     tool.Caller // MCP servers
	Builtins    Builtins
	Policy      tool.Policy
	Validator   *tool.Validator
	// SearchAttributes: the worker registered them at start.
	SearchAttributes bool
	Logger           *slog.Logger

	plans plans
}

// Requests reads what a workflow was started with, from its first event.
type Requests interface {
	// Inputs returns all arguments, as JSON.
	Inputs(ctx context.Context, workflowID, runID string) ([][]byte, error)
}

// Planner resolves a request to a plan, from the worker's configuration.
type Planner interface {
	Plan(req agent.PlanRequest) (agent.Plan, error)
}

// Transcripts is the journal (internal/store has the exact semantics).
type Transcripts interface {
	Lookup(ctx context.Context, scope transcript.Scope, key transcript.Key, w transcript.Writer) ([]transcript.Entry, error)
	Append(ctx context.Context, step transcript.Step) ([]transcript.Entry, error)
	Entries(ctx context.Context, scope transcript.Scope) ([]transcript.Entry, error)
	Reply(ctx context.Context, scope transcript.Scope, iteration int) (transcript.Entry, error)
	SetLive(ctx context.Context, live transcript.Live) error
	SaveCatalogue(ctx context.Context, scope transcript.Scope, catalogue tool.Catalogue) error
	Catalogues(ctx context.Context, scope transcript.Scope) ([]tool.Catalogue, error)
}

// Records keeps the picture that outlives Temporal's retention.
type Records interface {
	StartInvestigation(ctx context.Context, inv record.Investigation) error
	FinishInvestigation(ctx context.Context, inv record.Investigation) error
	Investigation(ctx context.Context, id string) (record.Investigation, error)
	StartExecution(ctx context.Context, exec record.Execution) error
	SaveStage(ctx context.Context, stage record.Stage, execs []record.Execution) error
}

// Blobs keeps content by its hash.
type Blobs interface {
	PutBlob(ctx context.Context, data []byte) (hash string, err error)
	Blob(ctx context.Context, hash string) ([]byte, error)
}

// Models makes the client for a provider.
type Models interface {
	Client(p agent.Provider, timeouts agent.Timeouts) (llm.Client, error)
}

// Builtins runs the tools that need no server.
type Builtins interface {
	Specs(plan agent.AgentPlan) []tool.Spec
	Call(ctx context.Context, plan agent.AgentPlan, call tool.Call) (tool.Result, error)
}
