package modelcall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/token"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// add adds a row to the iteration.
func (g *generation) add(kind transcript.Kind, body transcript.Body) {
	key := transcript.Key{Iteration: g.in.Iteration, Position: len(g.rows)}
	g.rows = append(g.rows, transcript.Row{Key: key, Kind: kind, Body: body})
}

// addNotices adds the notices about the agent's servers that the transcript lacks.
func (g *generation) addNotices(stored []transcript.Entry) {
	for _, text := range g.Notices() {
		g.addNotice(stored, text)
	}
	g.addRecovered(stored)
}

// addNotice adds a notice, unless it is empty or already in the transcript.
func (g *generation) addNotice(stored []transcript.Entry, text string) {
	said := func(e transcript.Entry) bool { return e.Kind == transcript.KindNotice && e.Text == text }
	if text != "" && !slices.ContainsFunc(stored, said) {
		g.add(transcript.KindNotice, transcript.Body{Text: text})
	}
}

// addTask begins the conversation with the system prompt and the task, which include the findings of earlier stages.
// Later iterations read them from the transcript.
func (g *generation) addTask(ctx context.Context, missing map[string]string) error {
	data, err := g.promptData(ctx, missing)
	if err != nil {
		return err
	}
	system, err := prompt.System(g.Row.Prompt, data)
	if err != nil {
		return job.Final(job.ErrorConfiguration, err)
	}
	system += prompt.Contract(g.spelledOut())
	if g.NamesEvidence() {
		system += prompt.Evidence(g.Contract().Asks())
	}
	blocks, err := g.coreMemory(ctx)
	if err != nil {
		return err
	}
	from, err := g.exposedAtFirst(ctx)
	if err != nil {
		return err
	}
	now := "\n" + prompt.Time(g.Plan, g.Started(ctx))
	if g.Plan.Conversation { // the task comes from people
		blocks += now
	}
	g.add(transcript.KindSystem, transcript.Body{Text: system + blocks, ToolSearch: g.searches(), Untrusted: from})
	for _, skipped := range g.Agent.SkippedFallbacks {
		g.add(transcript.KindNotice, transcript.Body{Text: skipped})
	}
	if g.Plan.Conversation {
		return nil
	}
	task, err := g.task(ctx, data)
	if err != nil {
		return err
	}
	g.add(transcript.KindUser, transcript.Body{Text: task + now})
	return nil
}

// addReply adds a reply to the stored entries. It gives the calls our own ids, so that nothing depends on the provider's,
// and adds the catalogue's data about them.
func (g *generation) addReply(reply llm.Response, tools *tool.Set, stored []transcript.Entry) {
	provider := g.provider()
	body := transcript.Body{
		Text: reply.Content, Thinking: reply.Thinking,
		Answer: transcript.Answer{
			Finish: string(reply.Finish), Provider: provider.Name, Model: reply.Model,
			Usage: usage(reply, g.needs.InputTokens, provider.Prices), ElapsedMS: g.timing.Took.Milliseconds(),
		},
		Reply: transcript.Reply{
			SummaryUsage: summaryUsage(stored), Compression: g.compression, ProviderState: reply.ProviderState, Forced: g.in.Conclude,
		},
	}
	if g.Row.ThinkingFallback && strings.TrimSpace(body.Text) == "" && len(reply.ToolCalls) == 0 && reply.Finish != llm.FinishLength {
		body.Text = reply.Thinking
	}
	if len(reply.Quoted) > 0 {
		names := make([]string, len(reply.Quoted))
		for n, name := range reply.Quoted {
			if spec, known := tools.Spec(name); known {
				name = spec.Name
			}
			names[n] = reveal.Name(name)
		}
		g.add(transcript.KindNotice, transcript.Body{
			Text: fmt.Sprintf("The reply text contains a call to %s that also appears in the model's input. The call was not made, because "+
				"the model may only be quoting it. Check tool results and the request for injected instructions.",
				strings.Join(names, ", ")),
		})
	}
	if len(reply.ToolCalls) > job.MaxCalls {
		g.add(transcript.KindNotice, transcript.Body{
			Text: fmt.Sprintf("The reply requested %d tool calls; only the first %d run.", len(reply.ToolCalls), job.MaxCalls),
		})
		reply.ToolCalls = reply.ToolCalls[:job.MaxCalls]
	}
	for n, call := range reply.ToolCalls {
		body.Calls = append(body.Calls, g.NewCall(tools, g.in.Iteration, n, call.Name, call.Arguments, g.read))
	}
	g.NoteRepeats(tools, stored, body.Calls)
	if len(body.Calls) == 0 && g.Row.Prompt == prompt.Action {
		body.Text, body.ActionsExecuted = prompt.ActionsExecuted(body.Text)
	}
	if len(body.Calls) == 0 {
		body.NoReport = whyNoReport(body.Text, tools)
	}
	if len(reply.Sources) > 0 {
		body.Untrusted = []string{job.FromWeb}
	}
	if said := body.Text; g.Row.Pattern == agent.Iterating && !g.Contract().JSON && !strings.HasPrefix(strings.TrimSpace(said), "{") {
		if body.Text = prompt.WithSources(said, reply.Sources); body.Text != said {
			body.Own = len(said)
		}
	}
	g.add(transcript.KindReply, body)
}

// usage returns the usage that the provider reports, or else our own count. input is the size of the messages and the
// tools, in tokens.
func usage(reply llm.Response, input int, prices plan.Prices) *agent.Usage {
	usage := reply.Usage
	usage.ModelCalls = 1
	if usage.InputTokens == 0 {
		usage.InputTokens = input
	}
	if usage.OutputTokens == 0 {
		said := reply.Content + reply.Thinking
		for _, call := range reply.ToolCalls {
			said += call.Name + call.Arguments
		}
		usage.OutputTokens = token.Count(reply.Model, said)
	}
	usage.CostUSD = prices.Cost(usage)
	return &usage
}
