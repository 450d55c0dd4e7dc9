package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/record"
)

func (r *investigationRun) answerQueries(ctx workflow.Context) error {
	status := func() (Status, error) { return r.snapshot(), nil }
	options := workflow.QueryHandlerOptions{Description: "The state of the investigation: stages, agents, tokens, pending approvals."}
	if err := workflow.SetQueryHandlerWithOptions(ctx, QueryStatus, status, options); err != nil {
		return err
	}
	result := func() (InvestigationResult, error) { return r.result, nil }
	options = workflow.QueryHandlerOptions{Description: "The result, or the partial result while it is running."}
	return workflow.SetQueryHandlerWithOptions(ctx, QueryResult, result, options)
}

// snapshot returns the investigation's current status: the part in its record, and the part that
// only this workflow has.
func (r *investigationRun) snapshot() Status {
	out := StatusOf(record.Investigation{
		ID: r.id, Chain: r.state.Resolved.Skeleton.Chain, Status: r.result.Status, EndReason: r.result.EndReason, Error: r.result.Error,
		Labels: r.state.Resolved.Labels, Usage: r.state.Usage, Envelope: r.envelope(),
	}, append(slices.Clone(r.state.Ran), r.runningStages()...))
	waiting := r.waiting()
	out.Status = r.status()
	out.Asleep, out.Budget = waiting.Asleep, r.budget()
	out.WaitsFor(record.Waits{Approvals: waiting.Approvals, Questions: r.questions(), Outages: waiting.Outages})
	switch {
	case out.Status.Closed() || out.WaitingFor != "":
	case len(r.state.Stages) == 0:
		out.WaitingFor = "the chain to be resolved"
	case len(r.running) > 0:
		out.WaitingFor = "the agents of stage " + r.running[0].plan.Name
	}
	return out
}

// WaitsFor sets the waits of a status.
func (s *Status) WaitsFor(w record.Waits) {
	s.Waiting, s.Questions, s.Outages = w.Approvals, w.Questions, w.Outages
	switch {
	case s.Status == agent.StatusWaitingApproval:
		s.WaitingFor = fmt.Sprintf("a person to approve or deny %d tool call(s)", len(s.Waiting))
	case s.Status == agent.StatusWaitingAnswer:
		s.WaitingFor = fmt.Sprintf("a person to answer %d question(s)", len(s.Questions))
	case s.Status == agent.StatusPaused:
		s.WaitingFor = "a person to resume or conclude it"
	case s.Status == agent.StatusWaitingProvider && len(s.Outages) > 0:
		s.WaitingFor = s.Outages[0].String()
	}
}

// runningStages returns the running stages with the workflow IDs of their agents. Readers ask the
// agents for details, because a query must not query other workflows.
func (r *investigationRun) runningStages() (out []record.Stage) {
	for _, s := range r.running {
		stage := record.Stage{
			Name: s.plan.Name, Index: s.index, Status: agent.StatusRunning, StartedAt: s.started,
			Envelope: record.StageEnvelope{Order: s.in.Order, Run: s.in.Run, Pass: s.in.Pass},
		}
		for _, a := range s.agents() {
			summary, ended := s.waiting.ended(a.Name)
			if !ended {
				summary = AgentSummary{
					Name: a.Name, Status: mostUrgent(s.waiting.of(a.Name), 0, r.state.Steering.Paused), Model: a.Model(0),
					WorkflowID: childID(r.id, executionName(s.plan.Name, a.Name)),
				}
			}
			stage.Envelope.Agents = append(stage.Envelope.Agents, summary)
			for _, sub := range s.waiting.Subs {
				if called(a, sub.Name) {
					sub.Status = mostUrgent(s.waiting.of(sub.Name), 0, r.state.Steering.Paused)
					stage.Envelope.Agents = append(stage.Envelope.Agents, sub)
				}
			}
		}
		out = append(out, stage)
	}
	return out
}

// questions returns the open questions for people.
func (r *investigationRun) questions() (out []Interrupt) {
	for _, i := range r.asking() {
		if i.open() {
			out = append(out, i.Interrupt)
		}
	}
	return out
}

// questionList lists in Markdown the questions to people, and how to answer them.
func questionList(questions []Interrupt) string {
	var b strings.Builder
	for _, q := range questions {
		b.WriteString(fmt.Sprintf("\n**%s?** %s · stage %s · %s · update `%s`, id `%s`\n",
			q.Kind, verbatim(q.Question, 1000), q.Stage, record.Until(q.Expires.UTC(), time.RFC3339), UpdateAnswer, q.ID))
	}
	return b.String()
}

// statusTable returns the status as Markdown, for the Temporal UI.
func statusTable(s Status) string {
	var b strings.Builder
	b.WriteString(fmt.Sprintf("**%s** · %s", cmp.Or(s.Chain, "no chain yet"), s.Status))
	if s.WaitingFor != "" {
		b.WriteString(fmt.Sprintf(" · waiting for %s", s.WaitingFor))
	}
	b.WriteString("\n\n")
	if len(s.Waiting) > 0 {
		b.WriteString(approvalList(s.Waiting) + "\n")
	}
	b.WriteString(outageList(s.Outages))
	if len(s.Questions) > 0 {
		b.WriteString(questionList(s.Questions) + "\n")
	}
	if s.Error != "" {
		b.WriteString("error: " + verbatim(s.Error, 1000) + "\n\n")
	}
	if len(s.Stages) > 0 {
		b.WriteString("| stage | status | agents | tokens |\n|---|---|---|---|\n")
	}
	for _, stage := range s.Stages {
		var names, subs []string
		var used agent.Usage
		for _, a := range stage.Agents {
			used = used.Add(a.Usage)
			if by := strings.Split(a.Name, "/"); len(by) > 1 {
				subs = append(subs, fmt.Sprintf("| %s | %s | of %s | %s |\n", treeName(a.Name), a.Status, by[len(by)-2], tokens(a.Usage)))
				continue
			}
			names = append(names, fmt.Sprintf("%s (%s)", a.Name, a.Status))
		}
		status := string(stage.Status)
		if stage.Partial != "" {
			status += " · partial: " + stage.Partial
		}
		b.WriteString(fmt.Sprintf("| %s | %s | %s | %s |\n", stage.Name, status, strings.Join(names, ", "), tokens(used)))
		b.WriteString(strings.Join(subs, ""))
	}
	b.WriteString(notDelivered(s.Undelivered))
	return clip.Text(b.String(), 16<<10)
}

// notDelivered lists undelivered signals as Markdown.
func notDelivered(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("\nnot delivered: " + verbatim(line, 200) + "\n")
	}
	return b.String()
}

// verbatim returns at most n bytes of a text as a Markdown code span, which is shown literally.
func verbatim(text string, n int) string {
	return "`" + clip.Text(strings.NewReplacer("`", "'", "\n", " ").Replace(text), n) + "`"
}

// agentTable lists a stage's agents as Markdown, for the Temporal UI.
func agentTable(agents []AgentSummary) string {
	var b strings.Builder
	b.WriteString("| agent | status | model | iterations | tokens |\n|---|---|---|---|---|\n")
	for _, a := range agents {
		iterations := "-"
		if a.Iterations > 0 {
			iterations = strconv.Itoa(a.Iterations)
		}
		b.WriteString(fmt.Sprintf("| %s | %s | %s | %s | %s |\n", treeName(a.Name), a.Status, a.Model, iterations, tokens(a.Usage)))
	}
	return clip.Text(b.String(), 16<<10)
}

// treeName returns an agent's name for a table in which sub-agents are indented below the agent that dispatched them.
func treeName(name string) string {
	if deep := strings.Count(name, "/"); deep > 0 {
		return strings.Repeat("↳ ", deep) + name[strings.LastIndexByte(name, '/')+1:]
	}
	return name
}

// tokens formats the tokens of a usage. The usage of running agents is known only to them.
func tokens(u agent.Usage) string {
	if u == (agent.Usage{}) {
		return "-"
	}
	return strconv.Itoa(u.Tokens())
}

// maxSubRows limits the sub-agents of one stage that a status lists; the store has all.
const maxSubRows = 100

// summaries returns the stage's agents, each followed by its sub-agents.
func (r *stageRun) summaries() (out []AgentSummary) {
	left := maxSubRows
	for _, m := range r.agents {
		subs := slices.Concat(m.result.Subs, m.waiting.Subs)
		subs = newest(subs, min(left, len(subs)))
		left -= len(subs)
		out = append(append(out, m.summary(r.in.Investigation)), subs...)
	}
	return out
}

func (m *member) summary(investigation string) AgentSummary {
	s := AgentSummary{
		Name: m.plan.Name, Status: agent.StatusRunning, StopReason: m.result.StopReason, Model: m.result.Model,
		Iterations: m.result.Iterations, Usage: m.result.Usage, Error: clip.Text(m.result.Error, 300),
		WorkflowID: childID(investigation, m.ref.Execution), ActionsExecuted: m.result.ActionsExecuted,
	}
	if m.closed {
		s.Status = m.result.Status
	} else {
		s.Model = m.plan.Model(0)
	}
	return s
}
