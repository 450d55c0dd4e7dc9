package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/reveal"
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
	for _, text := range g.notices() {
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

// addTask begins the conversation with the system prompt and the task. These include what earlier stages found, which is
// read from the transcript after that.
func (g *generation) addTask(ctx context.Context, missing map[string]string) error {
	data, err := g.promptData(ctx, missing)
	if err != nil {
		return err
	}
	system, err := prompt.System(g.row.Prompt, data)
	if err != nil {
		return final(ErrorConfiguration, err)
	}
	system += prompt.Contract(g.spelledOut())
	if g.namesEvidence() {
		system += prompt.Evidence(g.contract().Asks())
	}
	blocks, err := g.coreMemory(ctx)
	if err != nil {
		return err
	}
	from, err := g.exposedAtFirst(ctx)
	if err != nil {
		return err
	}
	g.add(transcript.KindSystem, transcript.Body{Text: system + blocks, Untrusted: from})
	for _, skipped := range g.agent.SkippedFallbacks {
		g.add(transcript.KindNotice, transcript.Body{Text: skipped})
	}
	if g.plan.Conversation {
		return nil // the task comes from people
	}
	task, err := g.task(ctx, data)
	if err != nil {
		return err
	}
	g.add(transcript.KindUser, transcript.Body{Text: task})
	return nil
}

func (g *generation) promptData(ctx context.Context, missing map[string]string) (prompt.Data, error) {
	data := prompt.Data{
		Agent: g.agent.Name, Description: g.agent.Description, Iteration: g.in.Iteration,
		Chain: g.plan.Chain, Stage: g.stage().Name, AlertType: g.plan.AlertType,
		Instructions: g.agent.Instructions, Runbook: g.plan.Runbook, Custom: g.agent.Prompt,
	}
	var err error
	if data.Request, err = g.request(ctx); err != nil {
		return data, err
	}
	if data.Written, err = g.written(ctx); err != nil {
		return data, err
	}
	if data.Custom != "" { // no other prompt uses it
		r, err := g.about(ctx)
		if err != nil {
			return data, err
		}
		data.RequestedBy, data.Tenant, data.Session, data.Metadata = r.Envelope.By, r.Tenant, r.Session, r.Metadata
	}
	if g.agent.Attached {
		data.RequestSize = len(data.Request)
		data.Request = beginning(data.Request, shownOfAttachment)
		data.Pages = g.row.Pattern == agent.Iterating
	}
	for _, s := range g.agent.Servers {
		data.Servers = append(data.Servers, prompt.Server{Name: s.Name, Instructions: s.Instructions, Error: missing[s.Name]})
	}
	if data.Prior, err = g.results(ctx, g.in.Prior); err != nil {
		return data, err
	}
	if data.Earlier, err = g.results(ctx, g.in.Earlier); err != nil {
		return data, err
	}
	for _, peer := range g.in.Peers {
		entries, err := g.Transcripts.Entries(ctx, transcript.Scope{Investigation: g.ref.Investigation, Execution: peer.Execution})
		if err != nil {
			return data, fmt.Errorf("read transcript of %s: %w", peer.Execution, err)
		}
		data.Peers = append(data.Peers, prompt.Peer{Agent: peer.Agent, Status: string(peer.Status), Error: peer.Error, Entries: entries})
	}
	if err := g.addTools(ctx, &data); err != nil {
		return data, err
	}
	if err := g.addEvidence(ctx, &data); err != nil {
		return data, err
	}
	data.Outputs = map[string]string{}
	for n, source := range g.in.Prior {
		if stage, known := g.plan.StageOf(source.Stage); known && !source.prepared() {
			data.Outputs[stage.Key()] = data.Prior[n].Text
		}
	}
	if data.Notes, err = g.shownNotes(ctx, g.in.Notes); err != nil {
		return data, err
	}
	return data, nil
}

// written returns the system prompt that a function of the worker's program wrote; "" if the agent has no such function.
func (g *generation) written(ctx context.Context) (string, error) {
	c := code{g.job, g.agent.PromptFunc, ErrorPrompt}
	if c.name == "" {
		return "", nil
	}
	run, ok := g.Prompts[c.name]
	if !ok {
		return "", c.missing(ctx, "prompt")
	}
	told, err := g.mockInput(ctx, RunMockIn{Ref: g.ref, Prior: g.in.Prior, Notes: g.in.Notes})
	if err != nil {
		return "", err
	}
	in := hook.PromptInput{Iteration: g.in.Iteration, MockInput: told}
	text, err := called(ctx, c, func(ctx context.Context) (string, error) {
		text, err := run.Call(ctx, in, g.Logger)
		if err == nil && strings.TrimSpace(text) == "" {
			err = errors.New("a prompt must not be empty")
		}
		return text, err
	})
	if err != nil {
		return "", err
	}
	return c.shown(ctx, text)
}

// results returns the final texts of other executions.
func (g *generation) results(ctx context.Context, sources []Source) (out []prompt.Result, err error) {
	for _, source := range sources {
		text, err := g.resultText(ctx, g.ref.Investigation, source.Execution)
		if err != nil {
			return nil, err
		}
		out = append(out, prompt.Result{Stage: source.Stage, Agent: source.Execution, Text: text})
	}
	return out, nil
}

// shownOfAttachment is how much of attached data agents see, in bytes.
const shownOfAttachment = 16_000

// shownNotes masks what people wrote in the notes, for models and code.
func (j *job) shownNotes(ctx context.Context, notes []Note) ([]Note, error) {
	shown := slices.Clone(notes)
	for n := range shown {
		var err error
		if shown[n].Answer, err = j.maskData(ctx, j.plan, requestData, shown[n].Answer); err != nil {
			return nil, err
		}
	}
	return shown, nil
}

// request returns the data to investigate; a conversation has none.
func (j *job) request(ctx context.Context) (string, error) {
	if j.ref.Data == "" {
		return "", nil
	}
	data, err := j.Blobs.Blob(ctx, j.ref.Data)
	if err != nil {
		return "", fmt.Errorf("read the data of %s: %w", j.ref.Investigation, err)
	}
	return string(data), nil
}

// resultText returns the final text of an execution, or its reasoning if it wrote nothing else.
func (a *Activities) resultText(ctx context.Context, investigation, execution string) (string, error) {
	entries, err := a.Transcripts.Entries(ctx, transcript.Scope{Investigation: investigation, Execution: execution})
	if err != nil {
		return "", fmt.Errorf("read transcript of %s: %w", execution, err)
	}
	return transcript.Final(entries, true), nil
}

// inputTexts are the prompts for inputs without a text.
var inputTexts = map[InputKind]string{
	InputHeartbeat: prompt.Heartbeat, InputRepeating: prompt.Repeating,
	InputLimit: prompt.Conclude(agent.StopMaxIterations), InputConclude: prompt.Conclude(agent.StopConcluded),
	InputScore: prompt.ScoreReminder, InputMissing: prompt.MissingTools, InputAwake: prompt.Awake, InputAnswered: prompt.Answered,
	InputTools: prompt.ToolsArrived,
}

// addInputs adds the workflow's inputs since the last call.
func (g *generation) addInputs(ctx context.Context, stored []transcript.Entry) (err error) {
	for _, input := range g.in.Inputs {
		kind, body, known := transcript.KindUser, transcript.Body{}, true
		switch input.Kind {
		case InputMessage:
			body.Text, err = g.messageText(ctx, input)
			body.By = input.By
		case InputBound:
			body.Text = prompt.Conclude(agent.StopReason(input.Text))
		case InputNudge:
			body.Text = g.nudge(stored)
		case InputRepair:
			body.Text = prompt.Repair(input.Text)
		case InputSubAgent:
			if body.Text, err = g.subResult(ctx, *input.Sub); err == nil {
				body.Untrusted, err = g.hasRead(ctx, input.Sub.Execution)
			}
		case InputNotice:
			kind = transcript.KindNotice
			body.Text, err = g.maskData(ctx, g.plan, "guidance", input.Text)
		default:
			body.Text, known = inputTexts[input.Kind]
		}
		if err != nil {
			return err
		}
		if known {
			g.add(kind, body)
		}
	}
	return nil
}

// addReply adds a reply. It gives the calls our own ids, so that nothing depends on the provider's, and adds the
// catalogue's data about them.
func (g *generation) addReply(reply llm.Response, tools *tool.Set, compression *transcript.Compression, summaries *agent.Usage) {
	provider := g.provider()
	body := transcript.Body{
		Text: reply.Content, Thinking: reply.Thinking,
		Answer: transcript.Answer{
			Finish: string(reply.Finish), Provider: provider.Name, Model: reply.Model,
			Usage: usage(reply, g.needs.InputTokens, provider.Prices),
		},
		Reply: transcript.Reply{
			SummaryUsage: summaries, Compression: compression, ProviderState: reply.ProviderState, Forced: g.in.Conclude,
		},
	}
	if g.row.ThinkingFallback && strings.TrimSpace(body.Text) == "" && len(reply.ToolCalls) == 0 {
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
			Text: fmt.Sprintf("The reply text contains a call of %s that also appears in the model's input. The call was not made, because "+
				"the model may only be quoting it. Check tool results and the request for injected instructions.",
				strings.Join(names, ", ")),
		})
	}
	if len(reply.ToolCalls) > maxCalls {
		g.add(transcript.KindNotice, transcript.Body{
			Text: fmt.Sprintf("The reply requested %d tool calls; only the first %d run.", len(reply.ToolCalls), maxCalls),
		})
		reply.ToolCalls = reply.ToolCalls[:maxCalls]
	}
	for n, call := range reply.ToolCalls {
		body.Calls = append(body.Calls, g.asked(tools, g.in.Iteration, n, call.Name, call.Arguments, g.read))
	}
	if len(body.Calls) == 0 && g.row.Prompt == prompt.Action {
		body.Text, body.ActionsExecuted = prompt.ActionsExecuted(body.Text)
	}
	if len(body.Calls) == 0 {
		body.NoReport = whyNoReport(body.Text, tools)
	}
	if len(reply.Sources) > 0 {
		body.Untrusted = []string{fromWeb}
	}
	if said := body.Text; g.row.Pattern == agent.Iterating && !g.contract().JSON && !strings.HasPrefix(strings.TrimSpace(said), "{") {
		if body.Text = prompt.WithSources(said, reply.Sources); body.Text != said {
			body.Own = len(said)
		}
	}
	g.add(transcript.KindReply, body)
}

// asked returns the n-th call of an iteration's reply, with the catalogue's data about the tool and the sources of
// untrusted text that may have caused the call. The arguments are not checked yet: see judged.
func (j *job) asked(tools *tool.Set, iteration, n int, name, arguments string, read []string) transcript.Call {
	call := transcript.Call{ID: fmt.Sprintf("c%d_%d", iteration, n), Name: name, Arguments: arguments}
	if spec, known := tools.Spec(name); known {
		call.Name, call.Risk, call.Class = spec.Name, spec.Risk, string(spec.Class())
		call.Queue, call.Own = j.queue(spec.Name), spec.Own
		if spec.Risk != agent.RiskReadOnly || spec.Name == agent.ToolDispatchAgent {
			call.Untrusted = read
		}
	}
	return call
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

// begin records that the execution is running, and the provider that it asks first.
func (j *job) begin(ctx context.Context, provider plan.Provider) error {
	starts := j.execution(provider)
	starts.StartedAt = j.now(ctx)
	if err := j.Records.StartExecution(ctx, starts, j.writer.RunID); err != nil {
		return fmt.Errorf("record execution %s: %w", j.ref.Execution, err)
	}
	return nil
}

// execution is the record of an execution that begins.
func (j *job) execution(provider plan.Provider) record.Execution {
	return record.Execution{
		Investigation: j.ref.Investigation, Name: j.ref.Execution, Stage: j.ref.StageRun(),
		Agent: j.agent.Definition, Type: j.row.Name, LLMBackend: j.agent.LLMBackend, Provider: provider.Name,
		Model: provider.Model, Status: agent.StatusRunning,
	}
}
