package activities

import (
	"context"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/activities/internal/modelcall"
	"github.com/inquest-dev/inquest/activities/internal/program"
	"github.com/inquest-dev/inquest/activities/internal/toolcall"
)

// The activities of agents: see the packages that carry them out.

// CallTool runs one call that a reply asked for and appends its result. Whatever goes wrong with the call becomes a
// result for the model. An intent row is written before the call, so a call that is not idempotent is never made twice
// (design: rule 2). As a local activity, CallTool makes only quick calls and leaves anything slow to a regular activity.
func (a *Activities) CallTool(ctx context.Context, in job.CallToolIn) (job.CallToolOut, error) {
	return toolcall.Run(ctx, a.worker(), in)
}

// CallOwnTools runs the calls of one reply that touch only our own store, in order. It can run as a local activity:
// after a crash, the next attempt finds the written rows (design: rule 3).
func (a *Activities) CallOwnTools(ctx context.Context, in job.CallOwnToolsIn) (job.CallOwnToolsOut, error) {
	return toolcall.RunOwn(ctx, a.worker(), in)
}

// EditCall checks arguments that a person has substituted in a pending call. It applies the same schema and policy as
// for an agent's arguments. Once approved, exactly the bytes it stores are used.
func (a *Activities) EditCall(ctx context.Context, in job.EditCallIn) (job.EditCallOut, error) {
	return toolcall.Edit(ctx, a.worker(), in)
}

// ListTools asks one MCP server for its tools and keeps the catalogue for the execution. If the server cannot be
// reached on the last try, the catalogue holds the error. The agent then continues without the server and is told why.
func (a *Activities) ListTools(ctx context.Context, in job.ListToolsIn) (job.ListToolsOut, error) {
	return toolcall.List(ctx, a.worker(), in)
}

// PlanCalls records the steps of an earlier stage's plan as the calls of a reply. The workflow then makes them under the
// same policy as a model's calls.
func (a *Activities) PlanCalls(ctx context.Context, in job.PlanCallsIn) (job.GenerateOut, error) {
	return toolcall.PlanCalls(ctx, a.worker(), in)
}

// PlanResult combines the results of the steps into the agent's final text.
func (a *Activities) PlanResult(ctx context.Context, in job.PlanResultIn) (job.GenerateOut, error) {
	return toolcall.PlanResult(ctx, a.worker(), in)
}

// Generate makes one model call. It reads the transcript, has large results summarised, builds the prompt and a view
// that fits the model, streams the reply, and appends the reply with everything that precedes it in this iteration. A
// reply that is already stored is returned without a call. As a local activity, it is used for quick models.
func (a *Activities) Generate(ctx context.Context, in job.GenerateIn) (job.GenerateOut, error) {
	return modelcall.Generate(ctx, a.worker(), &in)
}

// Unanswered records the prompt of an agent's first call that no model has answered or will answer. It takes no mail,
// because another agent may still read that.
func (a *Activities) Unanswered(ctx context.Context, in job.UnansweredIn) error {
	return modelcall.RecordUnanswered(ctx, a.worker(), in)
}

// RecordDecided writes the results of calls that people decided about, and that were not made before their agent ended.
// The decisions are in the audit trail afterwards.
func (a *Activities) RecordDecided(ctx context.Context, in job.DecidedIn) (job.DecidedOut, error) {
	return toolcall.RecordDecided(ctx, a.worker(), in)
}

// RunHook runs a function of the worker's program before or after a stage's agents. A hook whose result is stored is not
// run again.
func (a *Activities) RunHook(ctx context.Context, in job.RunHookIn) (job.RunHookOut, error) {
	return program.RunHook(ctx, a.worker(), in)
}

// RunMock runs a function of the worker's program in place of an agent. Its return value is the agent's final text.
func (a *Activities) RunMock(ctx context.Context, in job.RunMockIn) (job.GenerateOut, error) {
	return program.RunMock(ctx, a.worker(), in)
}

// Serve is the only step of an agent of the pattern service. Its output is empty, and the stage's hooks produce the
// stage's output.
func (a *Activities) Serve(ctx context.Context, in job.ServeIn) (job.GenerateOut, error) {
	return program.Serve(ctx, a.worker(), in)
}
