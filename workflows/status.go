package workflows

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
)

// This file holds the types of the query "status".

// StageStatus is the status line of one run of a stage, or of a stage that has not run.
type StageStatus struct {
	Name    string         `json:"name"`          // the run's name, as in StageRun
	Run     int            `json:"run,omitempty"` // number of this run of the stage, from 1
	Status  agent.Status   `json:"status"`
	Partial string         `json:"partial,omitempty"` // why its final text is incomplete
	Agents  []AgentSummary `json:"agents,omitempty"`
	Error   string         `json:"error,omitempty"`
}

// Status answers the query "status" of an investigation: a short, complete picture.
type Status struct {
	ID        string          `json:"id"`
	Chain     string          `json:"chain,omitempty"`
	Status    agent.Status    `json:"status"`
	EndReason agent.EndReason `json:"end_reason,omitempty"`
	// Cut reports that a limit ended the investigation before its chain was complete.
	Cut bool   `json:"cut,omitempty"`
	By  string `json:"by,omitempty"` // who requested the investigation
	agent.Labels
	// Stages holds the newest 200 stage runs in the order in which they started, then the
	// stages that have not run.
	Stages []StageStatus `json:"stages,omitempty"`
	Usage  agent.Usage   `json:"usage,omitzero"` // of the stages that ended; absent if unknown
	// Summary is the executive summary; SummaryError says why it is missing.
	Summary      string `json:"summary,omitempty"`
	SummaryError string `json:"summary_error,omitempty"`
	// NotChecked lists the servers whose tools an agent never had, so that the systems behind them were not looked at.
	NotChecked []record.NotChecked `json:"not_checked,omitempty"`
	// NoToolResult: see record.Envelope.
	NoToolResult bool `json:"no_tool_result,omitempty"`
	// Score is the investigation's score. Only the store has it.
	Score *record.Score `json:"score,omitempty"`
	// Ratings are people's ratings, oldest first. Only the store has them.
	Ratings []record.Rating `json:"ratings,omitempty"`
	// Review is the state of the review; nil until the investigation has ended. Only the store has it.
	Review *record.Review `json:"review,omitempty"`
	// WaitingFor names the people or things that the investigation waits for.
	WaitingFor string `json:"waiting_for,omitempty"`
	// Waiting lists the tool calls that need a person's decision.
	Waiting []Approval `json:"waiting,omitempty"`
	// Outages lists the providers that agents wait for, Asleep the agents that have paused.
	Outages []Outage `json:"outages,omitempty"`
	Asleep  []Asleep `json:"asleep,omitempty"`
	// Troubles lists activities that wait for a component of this system. Only Temporal knows them:
	// callers that query Temporal add them to the reply.
	Troubles []Trouble `json:"troubles,omitempty"`
	// Questions lists the open questions for people.
	Questions []Interrupt `json:"questions,omitempty"`
	// Answers holds the newest answers, as the agents see them.
	Answers []activities.Note `json:"answers,omitempty"`
	// Bounds lists the bounds in force and their origin. Budget holds the bounds that people can
	// raise while the investigation runs, with all extensions so far.
	Bounds []plan.Bound `json:"bounds,omitempty"`
	Budget *Budget      `json:"budget,omitempty"` // nil: unbounded
	Pass   int          `json:"pass,omitempty"`   // from 1
	Hops   int          `json:"hops,omitempty"`   // stages started
	// Outputs holds the outputs of this pass's stages by output key.
	Outputs map[string]Output `json:"outputs,omitempty"`
	// History holds the newest 200 stage runs that have ended, in that order, and Errors
	// the newest 50 that failed.
	History     []StageRun   `json:"history,omitempty"`
	Errors      []StageError `json:"errors,omitempty"`
	Undelivered []string     `json:"undelivered,omitempty"`
	Error       string       `json:"error,omitempty"`
	// Notices holds the newest 20 transcript notices for people, such as unavailable servers and unusable tools. Only the
	// store has them.
	Notices []string `json:"notices,omitempty"`
}

// Waits returns the people and providers that the investigation waits for.
func (s Status) Waits() record.Waits {
	return record.Waits{Approvals: s.Waiting, Questions: s.Questions, Outages: s.Outages}
}

// Trouble is an activity that repeatedly fails on, or waits for, a component of this system.
type Trouble struct {
	Workflow  string `json:"workflow"` // the id
	Activity  string `json:"activity"` // the type
	ErrorType string `json:"error_type"`
	// Error names the missing requirement of the worker. Errors of the store are only in the
	// workers' logs, because they may contain confidential names.
	Error   string    `json:"error,omitempty"`
	Since   time.Time `json:"since"` // when the activity was scheduled, before its first attempt
	Attempt int       `json:"attempt"`
	Next    time.Time `json:"next,omitzero"` // attempt; zero: one is running, or waits for a worker
}

// Output is the output of a stage.
type Output struct {
	Stage     string `json:"stage"`     // its run's name
	Execution string `json:"execution"` // that wrote it as its final text
	// Value is the JSON object of a stage that has a contract or routes. If it is over 16 KB,
	// Ref names it in the store instead.
	Value json.RawMessage `json:"value,omitempty"`
	Ref   string          `json:"ref,omitempty"`
}

// StageRun is one ended run of a stage.
type StageRun struct {
	Stage      string        `json:"stage"` // the run's name; the second run is "stage#2"
	Agents     []string      `json:"agents,omitempty"`
	Pass       int           `json:"pass"` // from 1
	Started    time.Time     `json:"started"`
	Completed  time.Time     `json:"completed"`
	DurationMS int64         `json:"duration_ms"`
	Status     agent.Status  `json:"status"`
	Outcome    agent.Outcome `json:"outcome,omitempty"`
	Error      string        `json:"error,omitempty"`
	LLMCalls   int           `json:"llm_calls,omitempty"`
}

// StageError is a failure of a stage, even if the chain continued after it.
type StageError struct {
	Stage     string    `json:"stage"`
	Error     string    `json:"error"`
	ErrorType string    `json:"error_type,omitempty"`
	Timestamp time.Time `json:"timestamp"`
}

// AgentStatus answers the query "status" of an agent.
type AgentStatus struct {
	Execution     string       `json:"execution"`
	Status        agent.Status `json:"status"`
	Iteration     int          `json:"iteration"`
	MaxIterations int          `json:"max_iterations"`
	Model         string       `json:"model"`
	Doing         string       `json:"doing,omitempty"`
	Usage         agent.Usage  `json:"usage,omitzero"` // absent if unknown
	Waiting       []Approval   `json:"waiting,omitempty"`
	Outage        *Outage      `json:"outage,omitempty"` // nil: no lasting outage
	// PausedUntil is when an agent that has paused its heartbeats continues.
	PausedUntil time.Time `json:"paused_until,omitzero"`
	// Undelivered lists messages to the agent that were not delivered.
	Undelivered []string `json:"undelivered,omitempty"`
	// LastFault is the last failed tool call of this workflow run. Nil means that none has failed.
	LastFault *CallFault `json:"last_fault,omitempty"`
}

// CallFault is a tool call that failed.
type CallFault = record.CallFault

// ConversationStatus answers the query "status" of a conversation.
type ConversationStatus struct {
	ID    string `json:"id"`
	Agent string `json:"agent,omitempty"`
	Open  bool   `json:"open"`
	Turns int    `json:"turns"`
	// Answering names the author of the message that the agent is working on. Empty means no message.
	Answering string `json:"answering,omitempty"`
	// Waiting lists the tool calls that need a person's decision, as in Status.
	Waiting     []Approval  `json:"waiting,omitempty"`
	AgentStatus AgentStatus `json:"agent_status"`
}

// statusView shows an investigation in queries, in its record and in Temporal's search attributes.
type statusView struct{ run *investigationRun }

func (v *statusView) answerQueries(ctx workflow.Context) error {
	status := func() (Status, error) { return v.snapshot(), nil }
	options := workflow.QueryHandlerOptions{Description: "The state of the investigation: stages, agents, tokens, pending approvals."}
	if err := workflow.SetQueryHandlerWithOptions(ctx, QueryStatus, status, options); err != nil {
		return err
	}
	result := func() (InvestigationResult, error) { return v.run.result, nil }
	options = workflow.QueryHandlerOptions{Description: "The investigation's result, or its partial result while it is running."}
	return workflow.SetQueryHandlerWithOptions(ctx, QueryResult, result, options)
}

// snapshot returns the investigation's current status: the part in its record, and the part that
// only this workflow has.
func (v *statusView) snapshot() Status {
	state, result := &v.run.state, v.run.result
	out := StatusOf(record.Investigation{
		ID: v.run.id, Chain: state.Resolved.Skeleton.Chain, Status: result.Status, EndReason: result.EndReason, Error: result.Error,
		Labels: state.Resolved.Labels, Usage: state.Usage, Envelope: v.run.envelope(),
	}, append(slices.Clone(v.run.state.Ran), v.runningStages()...))
	waiting := v.run.waiting()
	out.Status = v.current()
	out.Asleep, out.Budget = waiting.Asleep, v.run.bounds.budget()
	out.WaitsFor(record.Waits{Approvals: waiting.Approvals, Questions: v.run.questions.open(), Outages: waiting.Outages})
	switch {
	case out.Status.Closed() || out.WaitingFor != "":
	case len(v.run.state.Stages) == 0:
		out.WaitingFor = "the chain to be resolved"
	case len(v.run.running) > 0:
		out.WaitingFor = "the agents of stage " + v.run.running[0].plan.Name
	}
	return out
}

// WaitsFor sets the waits of a status.
func (s *Status) WaitsFor(w record.Waits) {
	s.Waiting, s.Questions, s.Outages = w.Approvals, w.Questions, w.Outages
	switch {
	case s.Status == agent.StatusWaitingApproval:
		s.WaitingFor = "a person to approve or deny " + record.Counted(len(s.Waiting), "tool call")
	case s.Status == agent.StatusWaitingAnswer:
		s.WaitingFor = "a person to answer " + record.Counted(len(s.Questions), "question")
	case s.Status == agent.StatusPaused:
		s.WaitingFor = "a person to resume or conclude it"
	case s.Status == agent.StatusWaitingProvider && len(s.Outages) > 0:
		s.WaitingFor = s.Outages[0].String()
	}
}

// runningStages returns the running stages with the workflow IDs of their agents. Readers ask the
// agents for details, because a query must not query other workflows.
func (v *statusView) runningStages() (out []record.Stage) {
	for _, s := range v.run.running {
		stage := record.Stage{
			Name: s.plan.Name, Index: s.index, Status: mostUrgent(s.waiting, 0, v.run.state.Steering.Paused), StartedAt: s.started,
			Envelope: record.StageEnvelope{Order: s.in.Order, Run: s.in.Run, Pass: s.in.Pass},
		}
		for _, a := range s.agents() {
			summary, ended := s.waiting.ended(a.Name)
			if !ended {
				summary = AgentSummary{
					Name: a.Name, Status: mostUrgent(s.waiting.of(a.Name), 0, v.run.state.Steering.Paused), Model: a.Model(0),
					WorkflowID: childID(v.run.id, executionName(s.plan.Name, a.Name)),
				}
			}
			stage.Envelope.Agents = append(stage.Envelope.Agents, summary)
			for _, sub := range s.waiting.Subs {
				if called(a, sub.Name) {
					sub.Status = mostUrgent(s.waiting.of(sub.Name), 0, v.run.state.Steering.Paused)
					stage.Envelope.Agents = append(stage.Envelope.Agents, sub)
				}
			}
		}
		out = append(out, stage)
	}
	return out
}

// open returns the open questions for people.
func (qs *questions) open() (out []Interrupt) {
	for _, i := range qs.asking() {
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
	for _, line := range (record.Envelope{NotChecked: s.NotChecked, NoToolResult: s.NoToolResult}).Caveats() {
		b.WriteString(verbatim(line, 500) + "\n\n")
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
		Name: m.plan.Name, Status: agent.StatusRunning, NotChecked: m.result.NotChecked, StopReason: m.result.StopReason, Model: m.result.Model,
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
