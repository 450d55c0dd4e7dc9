// Package modelcall makes the model calls of agents: it builds the request from the transcript and appends the reply.
package modelcall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/activities/internal/toolcall"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/circuit"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Generate is the activity Generate.
func Generate(ctx context.Context, a *job.Worker, in *job.GenerateIn) (job.GenerateOut, error) {
	ctx, stop := a.Attend(ctx)
	defer stop()
	key := fmt.Sprint(in.Ref.Execution, "/", in.Iteration, "/try ", in.Try, "/", in.Question())
	return job.MakeCall(ctx, a, key, func(ctx context.Context, known bool) (job.GenerateOut, error) {
		in.Begun = in.Begun && !known
		return makeReply(ctx, a, in)
	})
}

func makeReply(ctx context.Context, a *job.Worker, in *job.GenerateIn) (job.GenerateOut, error) {
	stop, err := a.LeaveTrace(ctx, *in)
	if err != nil {
		return job.GenerateOut{}, err
	}
	defer stop()
	j, err := a.Job(ctx, in.Ref)
	if err != nil {
		return job.GenerateOut{}, err
	}
	g := generation{briefing: briefing{Job: j, in: in}}
	g.Writer = in.Writer(g.Writer)
	log, reply, err := g.reply(ctx)
	var out job.GenerateOut
	if err == nil {
		out, err = g.outcome(ctx, log, reply)
	}
	return out, job.StoreFailure(job.Ended(ctx, err))
}

// reply returns the log before the call, and the entries of the reply, which it requests unless they are stored.
func (g *generation) reply(ctx context.Context) (log, reply []transcript.Entry, err error) {
	known, err := g.lookUp(ctx)
	stored := known.Step != nil
	if err == nil && !stored {
		err = g.RequireSeen(ctx, known.Log)
	}
	if err == nil {
		err = g.RequireShared(g.in.Iteration, stored)
	}
	if err != nil || stored {
		return known.Log, known.Step, err
	}
	if activity.GetInfo(ctx).ScheduledTime.Before(g.Held) {
		return nil, nil, job.Final(job.ErrorWorkerCannot, errRestored)
	}
	if g.awaited(ctx, known.Log) {
		return nil, nil, job.UnderWayElsewhere()
	}
	reply, err = g.run(ctx, known)
	g.Learn(ctx, job.TimesOf(g.provider()), g.provider().QuickUnder, g.timing)
	return known.Log, reply, err
}

// outcome summarises the entries of a reply for the workflow.
func (g *generation) outcome(ctx context.Context, log, reply []transcript.Entry) (job.GenerateOut, error) {
	out, err := toolcall.Calls{Job: g.Job}.Judged(ctx, reply)
	if err != nil {
		return job.GenerateOut{}, err
	}
	if out.Empty {
		g.lookBack(&out, log, reply)
	}
	out.Quick = g.Quick(ctx, job.TimesOf(g.provider()), g.provider().QuickUnder)
	if len(reply) > 0 {
		out.Kept, out.Other = reply[0].Writer != g.Writer, g.in.IsOther(reply[0])
	}
	// A later reply of a lost task may have read the letters.
	readSince := func(e transcript.Entry) bool { return e.Iteration > g.in.Iteration && e.Mail > 0 }
	out.Unread = g.unread > 0 || out.Kept && slices.ContainsFunc(log, readSince)

	g.asBefore(&out)
	out.AskLimit = out.Exceeded != "" && g.Plan.Bounds.OnLimit == plan.OnBoundAsk && g.Ref.Stage >= 0 // only stages of a chain can ask
	return out, nil
}

// asBefore makes the workflow of a fork continue after a shared step as the other investigation did, whose workflow had another state: it
// was asked a question, waited for others, or had reached a bound.
func (g *briefing) asBefore(out *job.GenerateOut) {
	part := g.Plan.Fork.Part(g.Ref.Execution)
	if g.in.Iteration > part.Iterations {
		return
	}
	out.Quick = g.in.Iteration < part.Iterations // the next reply is stored, too
	out.Usage = agent.Usage{ModelCalls: 1}       // only for the workflow: the ledger has none
	if out.Exceeded != "" {
		out.Exceeded, out.Other = "", true
	}
	if wentOn := g.in.Iteration < part.Iterations || !part.Ended; wentOn && len(out.Calls) == 0 {
		out.Invalid, out.Unread = "", true
	}
}

// errRestored makes the workflow ask again, which it does only once it is resumed.
var errRestored = errors.New("the databases were restored from a backup after this model call was requested")

// generation is one model call that has not been made yet.
type generation struct {
	briefing
	rows    []transcript.Row // the rows that this iteration appends
	unread  int              // number of unread messages to the agent: before the call, then after it
	needs   agent.Usage      // the call's estimated usage
	partial string           // the partial output of a failed reply
	read    []string         // sources of untrusted text that the execution has read
	timing  job.Timing
	// compression says how the view was made to fit.
	compression *transcript.Compression
	// room is the context window of the model as far as the plan knows, and learned the one that a refusal of this call has shown.
	// narrowed means that the view fits into a window that only refusals have shown.
	room     int
	learned  job.Window
	narrowed bool
}

// lookUp returns the stored state before the call. The first attempt of a new execution is recorded first, which also
// claims it. A later attempt, whose reply may be stored, looks that up first.
func (g *generation) lookUp(ctx context.Context) (known transcript.Known, err error) {
	begins := g.in.Iteration == 1 && !g.Plan.Conversation
	later := activity.GetInfo(ctx).Attempt > 1
	if begins && !later {
		err = g.Begin(ctx, g.provider())
	}
	if err == nil {
		known, err = g.Transcripts.LookupSince(ctx, g.Ref.Scope(), g.in.From, g.in.Iteration, g.Writer)
	}
	if err == nil && begins && later && (known.Step == nil || known.Step[0].Shared > 0) {
		err = g.Begin(ctx, g.provider())
	}
	g.unread = known.Unread
	return known, err
}

func (g *generation) run(ctx context.Context, known transcript.Known) ([]transcript.Entry, error) {
	stored, tools, err := g.prepare(ctx, known)
	if err != nil {
		return nil, err
	}
	g.addNotices(stored)
	if err := g.addMemory(ctx, stored); err != nil {
		return nil, err
	}
	if err := g.addMail(ctx); err != nil {
		return nil, err
	}
	g.addGuide()
	if err := g.addInputs(ctx, stored); err != nil {
		return nil, err
	}
	if stored, err = g.summarize(ctx, stored); err != nil {
		return nil, err
	}
	offered := g.tools(stored, tools)
	g.Saw(stored...)
	g.addOmissions(stored, offered)
	g.addForgotten(stored, offered)
	view, err := g.view(stored, offered)
	if err != nil {
		return nil, job.ModelFailure(err, job.Trouble{Provider: g.provider().Name})
	}
	if err := g.addImages(ctx, view); err != nil {
		return nil, err
	}
	leave, err := permitFor(ctx, g.Job, g.provider(), g.in.Provider+1 < len(g.Agent.Providers))
	if err != nil {
		return nil, err
	}
	defer leave.done()
	exceeded, err := g.admit(ctx, g.size(offered))
	if err != nil {
		return nil, err
	}
	if exceeded != "" {
		return g.appendExceeded(ctx, exceeded)
	}
	reply, err := g.call(ctx, leave, stored, view, offered)
	if err != nil {
		return nil, err
	}
	g.read = g.hadRead(stored)
	g.addNotice(stored, g.omissions(reply.Omitted))
	g.addNotice(stored, g.windowNotice())
	g.addReply(reply, tools, stored)
	job.Meter(ctx, g.provider(), *g.rows[len(g.rows)-1].Usage)
	err = g.Keep(ctx, func(ctx context.Context) error {
		stored, err = g.append(ctx)
		return err
	})
	if err != nil && !job.Refused(err) && activity.GetInfo(ctx).Attempt >= job.PaidTries {
		return nil, job.Final(job.ErrorStore, fmt.Errorf("the reply cannot be stored, and is not requested (and paid for) again: %w", err))
	}
	return stored, err
}

// appendExceeded records that no call is made, because it would exceed a bound.
func (g *generation) appendExceeded(ctx context.Context, exceeded agent.EndReason) ([]transcript.Entry, error) {
	g.returnMail()
	g.add(transcript.KindNotice, transcript.Body{Text: noRoom[exceeded], ErrorType: string(exceeded)})
	return g.append(ctx)
}

// prepare returns the log and the tools. If the log is empty, it adds the system prompt and the task.
func (g *generation) prepare(ctx context.Context, known transcript.Known) ([]transcript.Entry, *tool.Set, error) {
	stored, err := g.open(ctx, known.Log)
	if err != nil {
		return nil, nil, err
	}
	tools, missing, err := g.Offered(ctx, known.Catalogues)
	if err == nil && !hasSystemPrompt(stored) {
		err = g.addTask(ctx, missing)
	}
	return stored, tools, err
}

func (g *generation) append(ctx context.Context) (entries []transcript.Entry, err error) {
	step := g.Step(g.rows...)
	step.Recall = g.recalledBy()
	entries, g.unread, err = g.Transcripts.AppendReply(ctx, step)
	return entries, err
}

// hasSystemPrompt reports whether the log contains a system prompt. In a conversation, an iteration after the first may have
// written it, if the first one failed.
func hasSystemPrompt(stored []transcript.Entry) bool {
	return slices.ContainsFunc(stored, func(e transcript.Entry) bool { return e.Kind == transcript.KindSystem })
}

// open records what belongs before the call: that a provider has failed, and the results that the workflow decided. It
// returns the updated log.
func (g *briefing) open(ctx context.Context, log []transcript.Entry) ([]transcript.Entry, error) {
	if err := g.appendHop(ctx); err != nil {
		return nil, err
	}
	some, err := toolcall.Calls{Job: g.Job}.AppendResults(ctx, g.in.Inputs)
	if err != nil || !some {
		return log, err
	}
	if log, err = g.Transcripts.EntriesSince(ctx, g.Ref.Scope(), g.in.From); err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	return log, nil
}

// appendHop records that this provider takes over from the previous one. It does so now because the reply may take a
// while.
func (g *briefing) appendHop(ctx context.Context) error {
	if g.in.Fallback == nil {
		return nil
	}
	text := fmt.Sprintf("The model failed (%s: %s); %s takes over.", g.in.Fallback.ErrorType, g.in.Fallback.Error, g.provider().Model)
	row := transcript.Row{Key: transcript.HopKey(g.in.Iteration, g.in.Fallback.Try), Kind: transcript.KindFallback, Body: transcript.Body{
		Text: text, ErrorType: g.in.Fallback.ErrorType,
		Answer: transcript.Answer{Provider: g.provider().Name, Model: g.provider().Model},
	}}
	if _, err := g.Transcripts.Append(ctx, g.Step(row)); err != nil {
		return fmt.Errorf("record that %s takes over: %w", g.provider().Name, err)
	}
	return g.Records.SetModel(ctx, g.Execution(g.provider()))
}

// call makes the model call. It records a failure in the transcript.
func (g *generation) call(ctx context.Context, leave *permit, stored []transcript.Entry, view []agent.Message, tools []llm.Tool) (
	llm.Response, error) {
	provider := g.provider()
	client, err := g.Models.Client(*provider, g.Agent.Timeouts)
	if err != nil {
		return llm.Response{}, job.Final(job.ErrorWorkerCannot, err)
	}
	if _, own := client.(llm.InProcess); own && activity.GetInfo(ctx).IsLocalActivity { // an in-process model can crash the process at once
		if err := g.Transcripts.SetLive(ctx, g.in.Trace(ctx)); err != nil {
			return llm.Response{}, err
		}
	}
	request := g.request(view, tools)
	began := time.Now()
	reply, err := g.askFitting(ctx, leave, client, request, stored)
	g.timing = job.Timing{Took: time.Since(began), Answered: err == nil}
	if err = leave.ended(ctx, err); err != nil {
		return reply, g.failed(ctx, leave.by, began, err)
	}
	g.Troubles.Answered(g.Logger, provider, leave.by)
	reply.Model = cmp.Or(reply.Model, provider.Model)
	return reply, nil
}

// request returns the request of a model call.
func (g *generation) request(view []agent.Message, tools []llm.Tool) *llm.Request {
	provider := g.provider()
	request := &llm.Request{
		Model: provider.Model, Messages: wireNames(view), Tools: tools,
		NativeTools: nativeTools(provider), Thinking: provider.Thinking, Temperature: g.Agent.Temperature,
		MaxTokens: g.window().Reply(g.Agent.MaxTokens), Conversation: g.conversation(),
	}
	if g.in.Conclude {
		request.Tools, request.Withheld = nil, tools
	}
	contract := g.Contract()
	if contract.JSON && (len(request.Tools) == 0 || g.keepsSchema(provider)) {
		request.JSON, request.Schema = true, contract.Schema
	}
	return request
}

// conversation identifies the conversation that an execution's requests belong to. An empty string means that the agent
// makes one or two requests only.
func (g *briefing) conversation() string {
	if g.Row.Pattern == agent.SingleShot && !g.Plan.Conversation {
		return ""
	}
	return g.Ref.Session()
}

// stream requests the reply, within the iteration timeout. Output goes to the live tail as it arrives.
func (g *generation) stream(ctx context.Context, leave *permit, client llm.Client, request *llm.Request) (llm.Response, error) {
	live := job.NewLive(g.Job, g.in.Iteration, g.in.Attempt(ctx))
	defer live.Stop()
	asking, cancel := ctx, func() {}
	limit := g.Agent.Timeouts.Iteration.D()
	if limit > 0 {
		asking, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	reply, err := client.Generate(asking, *request, func(d llm.Delta) {
		leave.outputArrived(asking)
		live.Add(asking, d)
	})
	g.partial = live.Said()
	if err != nil && asking.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("%s: %w (%s)", g.provider().Name, job.ErrIteration, limit)
	}
	return reply, err
}

// failed turns the error of a model call into a Temporal error. It also records it in the transcript, where people see
// it while the agent waits for its next try.
func (g *generation) failed(ctx context.Context, by circuit.Conversation, began time.Time, err error) error {
	provider, name := g.provider(), job.ErrorType(err)
	spent := g.spent(name, err)
	failure := job.ModelFailure(job.Ended(ctx, err), job.Trouble{Provider: provider.Name, Usage: spent})
	if name == "" || ctx.Err() != nil {
		return failure
	}
	g.Troubles.Failed(g.Logger, provider, by, name, err)
	at := g.Now(ctx).Add(-time.Since(began))
	row := transcript.Row{Key: transcript.TryKey(g.in.Iteration, g.in.Try), Kind: transcript.KindTry, At: at, Body: transcript.Body{
		Text: job.Clipped(err.Error()), ErrorType: name,
		Answer: transcript.Answer{Provider: provider.Name, Model: provider.Model, ElapsedMS: time.Since(began).Milliseconds()},
	}}
	if spent != (agent.Usage{}) {
		job.Meter(ctx, provider, spent)
		row.Usage = &spent
		row.Text += fmt.Sprintf(" (counted as %d tokens: the provider may charge for it)", spent.Tokens())
	}
	if _, err := g.Transcripts.Append(ctx, g.Step(row)); err != nil {
		g.Logger.Warn("a failed model call was not recorded in the transcript", "execution", g.Ref.Execution, "error", err)
	}
	return failure
}

func (g *briefing) provider() *plan.Provider { return g.Job.Provider(g.in.Provider) }

// awaited reports whether an attempt on another worker may still produce the reply. It measures the wait by Temporal's
// clock alone: attempts that only wait are a second apart.
func (g *briefing) awaited(ctx context.Context, log []transcript.Entry) bool {
	failed := func(e transcript.Entry) bool { return e.Key == transcript.TryKey(g.in.Iteration, g.in.Try) }
	info := activity.GetInfo(ctx)
	waited := max(info.StartedTime.Sub(info.ScheduledTime), time.Duration(info.Attempt-1)*time.Second)
	return g.in.Begun && waited < cmp.Or(g.Abandoned, job.Abandoned) &&
		!slices.ContainsFunc(log, failed)
}
