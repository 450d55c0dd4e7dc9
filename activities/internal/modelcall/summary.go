package modelcall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/token"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// parallelSummaries is how many summaries are made at a time.
const parallelSummaries = 4

// summarize summarises every result that is too large for a conversation and has no summary yet, and returns the entries
// with the summaries. Each summary is a separate step, written immediately, so that a paid summary stays
// even if the rest fails (spec: tools, "Results").
func (g *generation) summarize(ctx context.Context, stored []transcript.Entry) ([]transcript.Entry, error) {
	work := g.unsummarized(stored)
	if len(work) > 0 && activity.GetInfo(ctx).IsLocalActivity {
		return nil, job.NotQuick(job.ErrorNotQuick, "results must be summarised first")
	}
	made, errs := make([]transcript.Entry, len(work)), make([]error, len(work))
	until := time.Now().Add(g.summaryTime())
	slots := make(chan struct{}, parallelSummaries)
	var running sync.WaitGroup
	for i, s := range work {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			made[i], errs[i] = s.write(ctx, until)
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return append(stored, made...), nil
}

// unsummarized returns the results that still need a summary, in order.
func (g *generation) unsummarized(stored []transcript.Entry) (work []summary) {
	known := transcript.Summaries(stored)
	for _, e := range stored {
		if _, ok := known[e.Key]; ok || e.Kind != transcript.KindResult {
			continue
		}
		name, _ := tool.Split(e.Call.Name)
		server, _ := g.Server(name)
		s := summary{generation: g, result: e}
		if server.Summarization == nil {
			continue
		}
		s.settings = *server.Summarization
		// No token is shorter than a byte, and most results are short.
		if len(e.Text) > s.settings.Threshold && token.Count(s.provider().Model, e.Text) > s.settings.Threshold {
			work = append(work, s)
		}
	}
	return work
}

// summaryTime is how long all summaries before a reply may take: half of the iteration's time.
func (g *generation) summaryTime() time.Duration {
	if limit := g.Agent.Timeouts.Iteration.D(); limit > 0 {
		return limit / 2
	}
	return 5 * time.Minute
}

// summaryUsage returns the usage of the summaries after the last reply; nil if there are none.
func summaryUsage(stored []transcript.Entry) *agent.Usage {
	var sum *agent.Usage
	for i := len(stored) - 1; i >= 0 && stored[i].Kind != transcript.KindReply; i-- {
		if e := stored[i]; e.Kind == transcript.KindSummary && e.Usage != nil {
			if sum == nil {
				sum = new(agent.Usage)
			}
			*sum = sum.Add(*e.Usage)
		}
	}
	return sum
}

const (
	// summaryAttempts is how often a model with a temporary failure is asked for a summary.
	summaryAttempts = 3
	// thinkingRoom is how many tokens beyond the summary a model may use, because its reasoning counts as well.
	thinkingRoom = 3000
	// summaryPrompt is the approximate size of the prompt around a result, in tokens.
	summaryPrompt = 1500
	// bytesPerToken converts a token limit to bytes, approximately.
	bytesPerToken = 4
)

// summary is a summary that has not been made yet.
type summary struct {
	*generation
	settings plan.Summarization
	result   transcript.Entry
}

// provider returns the provider that makes the summary.
func (s summary) provider() *plan.Provider {
	if s.settings.Provider != nil {
		return s.settings.Provider
	}
	return s.generation.provider()
}

// write makes the summary before the deadline until and appends it.
func (s summary) write(ctx context.Context, until time.Time) (transcript.Entry, error) {
	whole, err := s.result.Whole(ctx, s.Blobs.Blob)
	if err != nil {
		return transcript.Entry{}, fmt.Errorf("read the result of call %s: %w", s.result.Ref(), err)
	}
	body, err := s.body(ctx, until, whole)
	if err != nil {
		return transcript.Entry{}, err
	}
	row := transcript.Row{Key: transcript.SummaryKey(s.result.Iteration, s.result.CallIndex()), Kind: transcript.KindSummary, Body: body}
	entries, err := s.Transcripts.Append(ctx, s.Step(row))
	if err != nil {
		return transcript.Entry{}, fmt.Errorf("append the summary of call %s: %w", s.result.Ref(), err)
	}
	return entries[0], nil
}

// body returns the summary. If the model fails permanently, the beginning of the result replaces the summary: the agent
// continues, and can read the rest.
func (s summary) body(ctx context.Context, until time.Time, whole string) (transcript.Body, error) {
	body := transcript.Body{Call: s.result.Call, Answer: transcript.Answer{Provider: s.provider().Name, Model: s.provider().Model}}
	err := s.ask(ctx, until, whole, &body)
	if err == nil {
		return body, nil
	}
	failed, known := errors.AsType[*temporal.ApplicationError](err)
	var said job.Trouble
	if known && failed.HasDetails() {
		_ = failed.Details(&said) // errors without details are of another kind
	}
	switch {
	case ctx.Err() != nil:
		return body, job.Ended(ctx, err)
	case said.Open && s.settings.Provider == nil: // the agent's own model must be available anyway
		return body, err
	case known && job.Tries(failed.Type()) != 1 && activity.GetInfo(ctx).Attempt < summaryAttempts:
		return body, temporal.NewApplicationError(failed.Message(), failed.Type())
	}
	s.Logger.Warn("result not summarised", "execution", s.Ref.Execution, "result", s.result.Ref(), "error", err)
	body.ErrorType = job.ErrorConfiguration
	if known {
		body.ErrorType = failed.Type()
	}
	body.Text = job.Beginning(whole, s.settings.MaxTokens*bytesPerToken)
	return body, nil
}

// ask makes the model call and fills in body.
func (s summary) ask(ctx context.Context, until time.Time, whole string, body *transcript.Body) error {
	provider := s.provider()
	client, err := s.Models.Client(*provider, s.Agent.Timeouts)
	if err != nil {
		return job.Final(job.ErrorConfiguration, err)
	}
	window, limit := s.Windows.Of(provider), s.settings.MaxTokens+thinkingRoom
	request := llm.Request{Model: provider.Model, MaxTokens: window.Reply(limit)}
	if request.Messages, err = s.messages(whole, window); err != nil {
		return job.Final(job.ErrorConfiguration, err)
	}
	asking, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	leave, err := permitFor(asking, s.Job, provider, false)
	if err != nil {
		return err
	}
	defer leave.done()
	began := time.Now()
	reply, err := client.Generate(asking, request, func(llm.Delta) { leave.outputArrived(asking) })
	sent := token.Messages(provider.Model, request.Messages)
	if shorter, ok := window.Narrower(job.LLMError(err), sent, sent, limit); ok {
		request.MaxTokens = shorter.Reply(limit)
		if request.Messages, err = s.messages(whole, shorter); err != nil {
			return job.Final(job.ErrorConfiguration, err)
		}
		reply, err = client.Generate(asking, request, func(llm.Delta) { leave.outputArrived(asking) })
		if err == nil {
			s.Windows.Learn(provider, shorter)
		}
	}
	body.ElapsedMS = time.Since(began).Milliseconds()
	err = leave.ended(ctx, err)
	switch {
	case err != nil && asking.Err() != nil:
		return job.Final(job.ErrorTimeout, err)
	case err != nil:
		return job.ModelFailure(err, job.Trouble{Provider: provider.Name})
	}
	body.Model, body.Finish = cmp.Or(reply.Model, provider.Model), string(reply.Finish)
	body.Usage = usage(reply, token.Messages(provider.Model, request.Messages), provider.Prices)
	job.Meter(ctx, provider, *body.Usage)
	body.Text = atMost(provider.Model, strings.TrimSpace(reply.Content), s.settings.MaxTokens)
	if strings.TrimSpace(body.Text) == "" {
		return job.Final(job.ErrorEmptyReply, errors.New("the summary is empty"))
	}
	return nil
}

// messages returns the summary request, with as much of the result as the model accepts.
func (s summary) messages(whole string, learned job.Window) ([]agent.Message, error) {
	model := s.provider().Model
	window := token.Window(model)
	if own := s.Agent.Compression.MaxContextTokens; own > 0 && s.settings.Provider == nil {
		window = own
	}
	if learned.Tokens > 0 {
		window = min(window, learned.Room(0))
	}
	// A quarter is reserved for differences between our token count and the model's.
	room := (window - s.settings.MaxTokens - thinkingRoom - summaryPrompt) * 3 / 4
	shown, leftOut := excerpt(model, whole, max(room, window/4))
	system, user, err := prompt.Summary(prompt.SummaryData{
		Tool: s.result.Call.Name, Arguments: s.result.Call.Arguments,
		Result: shown, Bytes: len(whole), LeftOut: leftOut, MaxTokens: s.settings.MaxTokens,
	})
	return []agent.Message{{Role: agent.System, Content: system}, {Role: agent.User, Content: user}}, err
}

// excerpt returns the beginning and the end of a text in at most limit tokens, with twice as much of the beginning.
// leftOut is how many bytes are missing in between.
func excerpt(model, text string, limit int) (shown string, leftOut int) {
	keep := len(atMost(model, clip.Bytes(text, 2*bytesPerToken*limit), limit))
	if keep == len(text) {
		return text, 0
	}
	for {
		head, from := clip.Bytes(text, keep*2/3), len(text)-keep/3
		for from < len(text) && !utf8.RuneStart(text[from]) {
			from++
		}
		shown = fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", head, from-len(head), text[from:])
		if keep == 0 || token.Count(model, shown) <= limit+16 { // limit does not include the mark
			return shown, from - len(head)
		}
		keep = keep * 9 / 10
	}
}

// atMost cuts a text to a number of tokens.
func atMost(model, text string, limit int) string {
	for n := token.Count(model, text); n > limit; n = token.Count(model, text) {
		text = clip.Bytes(text, len(text)*limit/n)
	}
	return text
}
