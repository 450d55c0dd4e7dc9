package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// FinishRepeating marks a reply that was cut because it repeated itself.
const FinishRepeating = string(llm.FinishRepeating)

// maxCalls is the maximum number of calls in one reply. Any others are not run, and the transcript says so.
const maxCalls = 64

// Generate makes one model call. It reads the transcript, has large results summarised, builds the prompt and a view
// that fits the model, streams the reply, and appends the reply with everything that precedes it in this iteration. A
// reply that is already stored is returned without a call. As a local activity, it is used for quick models.
func (a *Activities) Generate(ctx context.Context, in GenerateIn) (GenerateOut, error) {
	ctx, stop := a.attend(ctx)
	defer stop()
	key := fmt.Sprint(in.Ref.Execution, "/", in.Iteration, "/try ", in.Try, "/", in.question())
	return makeCall(ctx, a, key, func(ctx context.Context, known bool) (GenerateOut, error) {
		in.Begun = in.Begun && !known
		return a.generate(ctx, in)
	})
}

func (a *Activities) generate(ctx context.Context, in GenerateIn) (GenerateOut, error) {
	stop, err := a.leaveTrace(ctx, in)
	if err != nil {
		return GenerateOut{}, err
	}
	defer stop()
	j, err := a.job(ctx, in.Ref)
	if err != nil {
		return GenerateOut{}, err
	}
	g := generation{job: j, in: in}
	g.writer = in.writer(g.writer)
	known, err := g.lookUp(ctx)
	entries := known.Step
	if err == nil && entries == nil {
		err = g.requireSeen(ctx, known.Log)
	}
	if err == nil && entries == nil {
		if g.awaited(ctx, known.Log) {
			return GenerateOut{}, underWayElsewhere()
		}
		entries, err = g.run(ctx, known)
		if g.took > 0 {
			g.learn(ctx, timesOf(g.provider()), g.provider().QuickUnder, g.took, g.answered)
		}
	}
	var out GenerateOut
	if err == nil {
		out, err = g.judged(ctx, entries)
	}
	if err == nil && out.Empty {
		g.lookBack(&out, known.Log, entries)
	}
	if err != nil {
		return GenerateOut{}, storeFailure(ended(ctx, err))
	}
	out.Quick = g.quick(ctx, timesOf(g.provider()), g.provider().QuickUnder)
	if len(entries) > 0 {
		out.Kept, out.Other = entries[0].Writer != g.writer, in.isOther(entries[0])
	}
	// A later reply of a lost task may have read the letters.
	readSince := func(e transcript.Entry) bool { return e.Iteration > in.Iteration && e.Mail > 0 }
	out.Unread = g.unread > 0 || out.Kept && slices.ContainsFunc(known.Log, readSince)

	out.AskLimit = out.Exceeded != "" && g.plan.Bounds.OnLimit == plan.OnBoundAsk && g.ref.Stage >= 0 // only stages of a chain can ask
	return out, nil
}

// generation is one model call that has not been made yet.
type generation struct {
	*job
	in     GenerateIn
	rows   []transcript.Row // the rows that this iteration appends
	unread int              // letters for the agent: before the call, then after it
	needs  agent.Usage      // the call's estimated usage
	heard  string           // the partial output of a failed reply
	read   []string         // sources of untrusted text that the execution has read
	// took is how long the model took; zero means it was not asked. answered reports that it replied.
	took     time.Duration
	answered bool
}

// lookUp returns the stored state before the call. The first attempt of a new execution is recorded first, which also
// claims it. A later attempt, whose reply may be stored, looks that up first.
func (g *generation) lookUp(ctx context.Context) (known transcript.Known, err error) {
	begins := g.in.Iteration == 1 && !g.plan.Conversation
	later := activity.GetInfo(ctx).Attempt > 1
	if begins && !later {
		err = g.begin(ctx, g.provider())
	}
	if err == nil {
		known, err = g.Transcripts.LookupReply(ctx, g.ref.scope(), g.in.Iteration, g.writer)
	}
	if err == nil && begins && later && known.Step == nil {
		err = g.begin(ctx, g.provider())
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
	if err := g.addInputs(ctx, stored); err != nil {
		return nil, err
	}
	if stored, err = g.summarize(ctx, stored); err != nil {
		return nil, err
	}
	offered := g.tools(tools.Offered())
	g.addOmissions(stored, offered)
	view, compression, err := g.view(stored, offered)
	if err != nil {
		return nil, modelFailure(err, Trouble{Provider: g.provider().Name})
	}
	if err := g.addImages(ctx, view); err != nil {
		return nil, err
	}
	leave, err := g.permit(ctx, g.provider(), g.in.Provider+1 < len(g.agent.Providers))
	if err != nil {
		return nil, err
	}
	defer leave.done()
	exceeded, err := g.admit(ctx, compression.CompressedTokens+toolTokens(g.provider().Model, offered))
	if err != nil {
		return nil, err
	}
	if exceeded != "" {
		g.returnMail()
		g.add(transcript.KindNotice, transcript.Body{Text: fmt.Sprintf("The model was not called: %s.", exceeded), ErrorType: string(exceeded)})
		return g.append(ctx)
	}
	reply, err := g.call(ctx, leave, view, offered)
	if err != nil {
		return nil, err
	}
	g.read = g.hadRead(stored)
	g.addNotice(stored, g.omissions(reply.Omitted))
	g.addReply(reply, tools, compression, summaryUsage(stored))
	meter(ctx, g.provider(), *g.rows[len(g.rows)-1].Usage)
	err = g.keep(ctx, func(ctx context.Context) error {
		stored, err = g.append(ctx)
		return err
	})
	if err != nil && !errors.Is(err, transcript.ErrStaleRun) && activity.GetInfo(ctx).Attempt >= paidTries {
		return nil, final(ErrorStore, fmt.Errorf("the reply cannot be stored, and is not requested (and paid for) again: %w", err))
	}
	return stored, err
}

// prepare returns the log and the tools. If the log is empty, it adds the system prompt and the task.
func (g *generation) prepare(ctx context.Context, known transcript.Known) ([]transcript.Entry, *tool.Set, error) {
	stored, err := g.open(ctx, known.Log)
	if err != nil {
		return nil, nil, err
	}
	tools, missing, err := g.offered(ctx, known.Catalogues)
	if err == nil && !begun(stored) {
		err = g.addTask(ctx, missing)
	}
	return stored, tools, err
}

func (g *generation) append(ctx context.Context) (entries []transcript.Entry, err error) {
	entries, g.unread, err = g.Transcripts.AppendReply(ctx,
		transcript.Step{Scope: g.ref.scope(), Writer: g.writer, Rows: g.rows, Recall: g.recalledBy()})
	return entries, err
}

// begun reports whether the log contains a system prompt. In a conversation, an iteration after the first may have
// written it, if the first one failed.
func begun(stored []transcript.Entry) bool {
	return slices.ContainsFunc(stored, func(e transcript.Entry) bool { return e.Kind == transcript.KindSystem })
}

// open records what belongs before the call: that a provider has failed, and the results that the workflow decided. It
// returns the updated log.
func (g *generation) open(ctx context.Context, log []transcript.Entry) ([]transcript.Entry, error) {
	if err := g.appendHop(ctx); err != nil {
		return nil, err
	}
	some, err := g.appendResults(ctx, g.in.Inputs)
	if err != nil || !some {
		return log, err
	}
	if log, err = g.Transcripts.Entries(ctx, g.ref.scope()); err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	return log, nil
}

// appendHop records that this provider takes over from the previous one. It does so now because the reply may take a
// while.
func (g *generation) appendHop(ctx context.Context) error {
	if g.in.Fallback == nil {
		return nil
	}
	text := fmt.Sprintf("The model failed (%s: %s); %s takes over.", g.in.Fallback.ErrorType, g.in.Fallback.Error, g.provider().Model)
	row := transcript.Row{Key: transcript.HopKey(g.in.Iteration, g.in.Fallback.Try), Kind: transcript.KindFallback, Body: transcript.Body{
		Text: text, ErrorType: g.in.Fallback.ErrorType,
		Answer: transcript.Answer{Provider: g.provider().Name, Model: g.provider().Model},
	}}
	if _, err := g.Transcripts.Append(ctx, transcript.Step{Scope: g.ref.scope(), Writer: g.writer, Rows: []transcript.Row{row}}); err != nil {
		return fmt.Errorf("record that %s takes over: %w", g.provider().Name, err)
	}
	return g.Records.SetModel(ctx, g.execution(g.provider()))
}

// call makes the model call. It records a failure in the transcript.
func (g *generation) call(ctx context.Context, leave *permit, view []agent.Message, tools []llm.Tool) (llm.Response, error) {
	provider := g.provider()
	client, err := g.Models.Client(provider, g.agent.Timeouts)
	if err != nil {
		return llm.Response{}, final(ErrorWorkerCannot, err)
	}
	if _, own := client.(llm.InProcess); own && activity.GetInfo(ctx).IsLocalActivity { // an in-process model can crash the process at once
		if err := g.Transcripts.SetLive(ctx, g.in.trace(ctx)); err != nil {
			return llm.Response{}, err
		}
	}
	request := llm.Request{
		Model: provider.Model, Messages: wireNames(view), Tools: tools,
		NativeTools: nativeTools(provider), Thinking: provider.Thinking, Temperature: g.agent.Temperature, MaxTokens: g.agent.MaxTokens,
		Conversation: g.conversation(),
	}
	if g.in.Conclude {
		request.Tools, request.Withheld = nil, tools
	}
	contract := g.contract()
	if contract.JSON && (len(request.Tools) == 0 || g.keepsSchema(provider)) {
		request.JSON, request.Schema = true, contract.Schema
	}
	began := time.Now()
	reply, err := g.ask(ctx, leave, client, request)
	g.took, g.answered = time.Since(began), err == nil
	if err = leave.ended(ctx, err); err != nil {
		return reply, g.failed(ctx, began, err)
	}
	g.troubles.answered(g.Logger, provider)
	reply.Model = cmp.Or(reply.Model, provider.Model)
	return reply, nil
}

// conversation identifies the conversation that an execution's requests belong to; "" means the agent asks once, or
// twice at most.
func (g *generation) conversation() string {
	if g.row.Pattern == agent.SingleShot && !g.plan.Conversation {
		return ""
	}
	return g.ref.session()
}

// stream requests the reply, within the iteration timeout. Output goes to the live tail as it arrives.
func (g *generation) stream(ctx context.Context, leave *permit, client llm.Client, request llm.Request) (llm.Response, error) {
	live := newLive(g.job, g.in.Iteration, g.in.attempt(ctx))
	defer live.stop()
	asking, cancel := ctx, func() {}
	limit := g.agent.Timeouts.Iteration.D()
	if limit > 0 {
		asking, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	reply, err := client.Generate(asking, request, func(d llm.Delta) {
		leave.hear(asking)
		live.add(asking, d)
	})
	g.heard = live.said()
	if err != nil && asking.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("%s: %w (%s)", g.provider().Name, errIteration, limit)
	}
	return reply, err
}

// failed turns the error of a model call into a Temporal error. It also records it in the transcript, where people see
// it while the agent waits for its next try.
func (g *generation) failed(ctx context.Context, began time.Time, err error) error {
	provider, name := g.provider(), errorType(err)
	spent := g.spent(name, err)
	failure := modelFailure(ended(ctx, err), Trouble{Provider: provider.Name, Usage: spent})
	if name == "" || ctx.Err() != nil {
		return failure
	}
	g.troubles.failed(g.Logger, provider, name, err)
	at := g.now(ctx).Add(-time.Since(began))
	row := transcript.Row{Key: transcript.TryKey(g.in.Iteration, g.in.Try), Kind: transcript.KindTry, At: at, Body: transcript.Body{
		Text: clipped(err.Error()), ErrorType: name,
		Answer: transcript.Answer{Provider: provider.Name, Model: provider.Model, ElapsedMS: time.Since(began).Milliseconds()},
	}}
	if spent != (agent.Usage{}) {
		meter(ctx, provider, spent)
		row.Usage = &spent
		row.Text += fmt.Sprintf(" (counted as %d tokens: the provider may charge for it)", spent.Tokens())
	}
	step := transcript.Step{Scope: g.ref.scope(), Writer: g.writer, Rows: []transcript.Row{row}}
	if _, err := g.Transcripts.Append(ctx, step); err != nil {
		g.Logger.Warn("a failed model call is not in the transcript", "execution", g.ref.Execution, "error", err)
	}
	return failure
}

// clipped shortens an error for the transcript.
func clipped(text string) string { return tool.ValidText(clip.Bytes(text, maxTryError)) }

const maxTryError = 1000

func (g *generation) provider() plan.Provider { return g.job.provider(g.in.Provider) }

// provider returns the agent's n-th provider; zero if the agent uses no model.
func (j *job) provider(n int) plan.Provider {
	if len(j.agent.Providers) == 0 {
		return plan.Provider{}
	}
	return j.agent.Providers[min(max(n, 0), len(j.agent.Providers)-1)]
}

// generateOut summarises the appended rows for the workflow.
func generateOut(entries []transcript.Entry) GenerateOut {
	var out GenerateOut
	if len(entries) > 0 {
		out.Seen = entries[len(entries)-1].Mark()
	}
	for _, e := range entries {
		if e.Kind == transcript.KindNotice && e.ErrorType != "" {
			out.Exceeded = agent.EndReason(e.ErrorType)
		}
		if e.Kind != transcript.KindReply {
			continue
		}
		out.Finish, out.Model, out.Preview = e.Finish, e.Model, preview(e.Text)
		out.Invalid, out.ActionsExecuted = e.Invalid, e.ActionsExecuted
		out.Empty, out.NoReport = blank(e), e.NoReport
		out.Partial = notWhole(e)
		if e.Usage != nil {
			out.Usage = *e.Usage
		}
		if e.SummaryUsage != nil {
			out.Usage = out.Usage.Add(*e.SummaryUsage)
		}
	}
	return out
}

// previewRunes is the length of the preview that goes into history, in characters.
const previewRunes = 120

// preview is the beginning of a text on one line.
func preview(text string) string {
	return clip.Line(strings.Join(strings.Fields(text), " "), previewRunes)
}
