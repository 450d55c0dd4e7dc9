package modelcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/activities/internal/program"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// briefing holds the material of one model call: prompts, other agents' results, memory. It changes nothing.
type briefing struct {
	*job.Job
	in *job.GenerateIn
}

func (g *briefing) promptData(ctx context.Context, missing map[string]string) (prompt.Data, error) {
	data := prompt.Data{
		Agent: g.Agent.Name, Description: g.Agent.Description, Iteration: g.in.Iteration,
		Chain: g.Plan.Chain, Stage: g.Stage().Name, AlertType: g.Plan.AlertType,
		Instructions: g.Agent.Instructions, Custom: g.Agent.Prompt,
		Runbook: g.Plan.Runbook, RunbookOrigin: g.Plan.RunbookOrigin.Name, RunbookRequested: g.Plan.RunbookOrigin.Requested,
	}
	var err error
	if g.Plan.Check && g.Ref.Stage == plan.SummaryStage {
		r, err := g.About(ctx)
		if err != nil {
			return data, err
		}
		data.Check = &prompt.LastCheck{}
		if before := r.Envelope.Before; before != nil {
			*data.Check = prompt.LastCheck{Verdict: string(before.Verdict), Problems: before.Problems}
		}
	}
	if data.Request, err = g.Request(ctx); err != nil {
		return data, err
	}
	if data.Written, err = g.written(ctx); err != nil {
		return data, err
	}
	if data.Custom != "" { // no other prompt uses it
		r, err := g.About(ctx)
		if err != nil {
			return data, err
		}
		data.RequestedBy, data.Tenant, data.Session, data.Metadata = r.Envelope.By, r.Tenant, r.Session, r.Metadata
	}
	if g.Agent.Attached {
		data.RequestSize = len(data.Request)
		data.Request = job.Beginning(data.Request, shownOfAttachment)
		data.Pages = g.Row.Pattern == agent.Iterating
	}
	for _, s := range g.Agent.Servers {
		data.Servers = append(data.Servers, prompt.Server{Name: s.Name, Instructions: s.Instructions, Error: missing[s.Name]})
	}
	if g.searches() {
		data.Findable = findable(g.Tools)
	}
	if data.Skills, err = g.skills(ctx); err != nil {
		return data, err
	}
	if data.Prior, err = g.results(ctx, g.in.Prior); err != nil {
		return data, err
	}
	if data.Earlier, err = g.results(ctx, g.in.Earlier); err != nil {
		return data, err
	}
	for _, peer := range g.in.Peers {
		entries, err := g.Transcripts.Entries(ctx, transcript.Scope{Investigation: g.Ref.Investigation, Execution: peer.Execution})
		if err != nil {
			return data, fmt.Errorf("read transcript of %s: %w", peer.Execution, err)
		}
		data.Peers = append(data.Peers, prompt.Peer{Agent: peer.Agent, Status: string(peer.Status), Error: peer.Error, Entries: entries})
	}
	if err := g.addTools(ctx, &data); err != nil {
		return data, err
	}
	if err := g.addLearnings(ctx, &data); err != nil {
		return data, err
	}
	if err := g.addEvidence(ctx, &data); err != nil {
		return data, err
	}
	data.Outputs = map[string]string{}
	for n, source := range g.in.Prior {
		if stage, known := g.Plan.StageOf(source.Stage); known && !source.Prepared() {
			data.Outputs[stage.Key()] = data.Prior[n].Text
		}
	}
	if data.Notes, err = g.ShownNotes(ctx, g.in.Notes); err != nil {
		return data, err
	}
	return data, nil
}

// skills returns the agent's skills, with the texts of those that are required.
func (g *briefing) skills(ctx context.Context) (out prompt.Skills, err error) {
	for _, s := range g.Agent.Skills {
		out.Files = out.Files || len(s.Files()) > 0
		if !s.Required {
			out.Loadable = append(out.Loadable, prompt.Skill{Name: s.Name, Description: s.Description})
			continue
		}
		text, err := g.Blobs.Blob(ctx, s.Blobs[""])
		if err != nil {
			return out, fmt.Errorf("read the skill %s: %w", s.Name, err)
		}
		out.Required = append(out.Required, prompt.Skill{Name: s.Name, Text: string(text)})
	}
	return out, nil
}

// written returns the system prompt that a function of the worker's program wrote; "" if the agent has no such function.
func (g *briefing) written(ctx context.Context) (string, error) {
	c := program.Function{Job: g.Job, Name: g.Agent.PromptFunc, ErrorType: job.ErrorPrompt}
	if c.Name == "" {
		return "", nil
	}
	run, ok := g.Prompts[c.Name]
	if !ok {
		return "", c.Missing(ctx, "prompt")
	}
	input, err := c.MockInput(ctx, job.RunMockIn{Ref: g.Ref, Prior: g.in.Prior, Notes: g.in.Notes})
	if err != nil {
		return "", err
	}
	in := hook.PromptInput{Iteration: g.in.Iteration, MockInput: input}
	text, err := program.Run(ctx, c, func(ctx context.Context) (string, error) {
		text, err := run.Call(ctx, in, g.Logger)
		if err == nil && strings.TrimSpace(text) == "" {
			err = errors.New("a prompt must not be empty")
		}
		return text, err
	})
	if err != nil {
		return "", err
	}
	return c.Shown(ctx, text)
}

// results returns the final texts of other executions.
func (g *briefing) results(ctx context.Context, sources []job.Source) (out []prompt.Result, err error) {
	for _, source := range sources {
		text, err := g.ResultText(ctx, g.Ref.Investigation, source.Execution)
		if err != nil {
			return nil, err
		}
		out = append(out, prompt.Result{Stage: source.Stage, Agent: source.Execution, Text: text})
	}
	return out, nil
}

// shownOfAttachment is how much of attached data agents see, in bytes.
const shownOfAttachment = 16_000

// task returns the agent's first message. For a dispatched agent, that is its task.
func (g *briefing) task(ctx context.Context, data prompt.Data) (string, error) {
	if g.in.Task == nil {
		name := g.Row.Prompt
		if g.Ref.Agent == plan.ReviewIndex {
			name, data.Review = prompt.Review, g.Stage().Routing.Review.Question
		}
		text, err := prompt.Task(name, data)
		if err != nil {
			return "", job.Final(job.ErrorConfiguration, err)
		}
		return text, nil
	}
	scope := transcript.Scope{Investigation: g.Ref.Investigation, Execution: g.in.Task.Execution}
	reply, err := g.Transcripts.Reply(ctx, scope, g.in.Task.Iteration)
	if err != nil {
		return "", fmt.Errorf("read the task of %s: %w", g.Ref.Execution, err)
	}
	call, err := g.NthCall(reply, g.in.Task.Iteration, g.in.Task.Call)
	if err != nil {
		return "", err
	}
	var arguments struct {
		Task string `json:"task"`
	}
	if err := json.Unmarshal([]byte(call.Arguments), &arguments); err != nil {
		return "", job.Final(job.ErrorNotFound, fmt.Errorf("the task of %s: %w", g.Ref.Execution, err))
	}
	return prompt.SubTask(arguments.Task), nil
}
