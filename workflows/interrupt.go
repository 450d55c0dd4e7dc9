package workflows

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/route"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// questions are those that an investigation has put to people: its stages' and its tool servers'.
type questions struct {
	run        *investigationRun
	interrupts []*interrupt
	elicited   []*interrupt // of tool servers
}

// interrupt is a question that a stage has put to people (spec: pipeline, "Interrupts").
type interrupt struct {
	Interrupt
	index  int  // of the stage that asked
	gate   bool // see route.Walk.Finish
	rule   plan.Interrupt
	review func(workflow.Context, route.Verdict) // continues with the verdict; nil means that none is asked for
	answer *Answer
	closed bool // answered, expired, or no longer needed
}

// open reports whether an answer would be accepted.
func (i *interrupt) open() bool { return i.answer == nil && !i.closed }

// kinds holds how long each kind of question waits by default, and what its answer must contain.
var kinds = map[route.Ask]struct {
	expires time.Duration
	check   func(Answer) error
}{
	route.Clarification: {clarificationWait, func(a Answer) error { return need(a.Text != "" || len(a.Data) > 0, `"text" or "data"`) }},
	route.Confirmation:  {confirmationWait, func(a Answer) error { return need(a.Approved != nil, `"approved": true or false`) }},
	kindLimit: {0, func(a Answer) error {
		said := cmp.Or(a.Decision, a.Text)
		return need(said == decideConclude || said == decideStop,
			`"decision": conclude or stop; to raise the limit, use "starter extend" or the update extend_budget`)
	}},
	route.Review: {reviewWait, func(a Answer) error { return need(a.Decision != "" || a.Approved != nil, `"decision" or "approved"`) }},
}

func need(ok bool, what string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("the answer needs %s", what)
}

// ask puts a stage's question to people. The answer decides where the chain continues.
func (qs *questions) ask(ctx workflow.Context, way route.Walk, s *stageChild, kind route.Ask, gate bool, result StageResult) {
	if named := route.Ask(textField(result.Fields, "interrupt")); !gate && kinds[named].expires > 0 {
		kind = named // the output names a more specific kind
	}
	question := cmp.Or(textField(result.Fields, "question"), textField(result.Fields, "message"),
		"Stage "+s.plan.Name+" asks you to review its result.")
	qs.put(ctx, way, &interrupt{index: s.index, gate: gate, rule: qs.rule(kind, s.plan.Routing), Interrupt: Interrupt{
		Kind: string(kind), Stage: s.plan.Name, Data: result.Fields["data"], Question: question,
	}})
}

// askReview asks people to review the result of a stage before the chain continues.
func (qs *questions) askReview(ctx workflow.Context, way route.Walk, s *stageChild, result StageResult, end route.Result) {
	decided := func(ctx workflow.Context, verdict route.Verdict) {
		end.Review = verdict
		qs.run.leave(ctx, way, s, result, end)
	}
	qs.put(ctx, way, &interrupt{index: s.index, review: decided, rule: qs.rule(route.Review, s.plan.Routing), Interrupt: Interrupt{
		Kind: string(route.Review), Stage: s.plan.Name, Data: result.Fields["data"], Question: s.plan.Routing.Review.Question, Review: true,
	}})
}

// reviewed returns the verdict of a reviewing agent. If it is negative, later stages see its feedback.
func (qs *questions) reviewed(s *stageChild, said activities.Review) route.Verdict {
	if said.Approved {
		return route.Approved
	}
	qs.keep(activities.Note{
		Kind: string(route.Review), Stage: s.plan.Name, Question: s.plan.Routing.Review.Question,
		Answer: Answer{Text: fit(said.Feedback, MaxAnswer), Approved: &said.Approved}.words(), By: s.plan.Review.Name,
	})
	return route.SentBack
}

// put puts a question to people and starts waiting for the answer. It does not block.
func (qs *questions) put(ctx workflow.Context, way route.Walk, i *interrupt) {
	if qs.run.state.Asked >= maxAsked {
		way.Stop(agent.EndMaxLoop)
		return
	}
	qs.run.state.Asked++
	i.ID, i.Question = qs.questionID(ctx, "q", qs.run.state.Asked), fit(i.Question, maxQuestion)
	i.Expires = workflow.Now(ctx).Add(cmp.Or(i.rule.Expires.D(), kinds[route.Ask(i.Kind)].expires))
	qs.interrupts = append(qs.interrupts, i)
	workflow.Go(ctx, func(ctx workflow.Context) {
		paused := func() bool { return qs.run.state.Steering.Paused }
		done := func() bool { return i.answer != nil || qs.run.over(ctx) }
		_, _ = awaitPeople(ctx, i.Kind+" "+i.ID, &i.Expires, paused, done, func() {}) // no callback: recordStatus reports a new expiry
		i.closed = true
	})
}

// questionID returns an id that differs from those of questions that a reset has undone, so that answers to those are
// refused. If a workflow task is lost and repeated, the id stays the same, because people may have seen it.
func (qs *questions) questionID(ctx workflow.Context, prefix string, n int) string {
	id := fmt.Sprint(prefix, n)
	if qs.run.state.Resolved.Level < activities.LevelQuestions {
		return id
	}
	run := currentRun(ctx)
	return id + "-" + run[max(0, len(run)-4):]
}

// maxAsked limits the questions of an investigation. An answer begins no new pass, so
// nothing else would end a chain with a stage that always asks again.
const maxAsked = 100

// maxQuestion limits a question, in bytes of JSON, because it is in the status.
const maxQuestion = 4 << 10

// rule returns how a question of a stage waits, and which stage continues with the answer.
func (qs *questions) rule(kind route.Ask, asking plan.Routing) plan.Interrupt {
	rule := qs.run.state.Resolved.Skeleton.Interrupts.Of(string(kind))
	rule.Resume = cmp.Or(asking.Resume[string(kind)], rule.Resume)
	return rule
}

// closedQuestion returns the first closed question.
func (qs *questions) closedQuestion() *interrupt {
	for _, i := range qs.interrupts {
		if i.closed {
			return i
		}
	}
	return nil
}

// resume continues the chain after a question, with an answer or without one.
func (qs *questions) resume(ctx workflow.Context, way route.Walk, i *interrupt) {
	qs.interrupts = slices.DeleteFunc(slices.Clone(qs.interrupts), func(other *interrupt) bool { return other == i })
	switch a := i.answer; {
	case a == nil && qs.run.over(ctx): // the chain ends for another reason
	case a == nil && (i.gate || !i.rule.Continue): // no answer is no approval
		qs.keep(i.note())
		way.Stop(agent.EndInterruptExpired)
	case i.review != nil:
		qs.keep(i.note())
		i.review(ctx, i.verdict())
	case a != nil && i.Kind == string(route.Confirmation) && !*a.Approved:
		qs.keep(i.note())
		way.Stop(agent.EndDenied)
	case i.gate:
		qs.keep(i.note())
		way.Approve(i.index)
		qs.run.void(way)
	default:
		qs.keep(i.note())
		way.Resume(i.index, i.rule.Resume)
		qs.run.void(way)
	}
}

// verdict returns people's verdict on a result. Without an answer the result is approved, because the chain
// is configured to continue.
func (i *interrupt) verdict() route.Verdict {
	if i.answer != nil && !*i.answer.Approved {
		return route.SentBack
	}
	return route.Approved
}

// keep adds an answer, and drops old ones that stages no longer see.
func (qs *questions) keep(note activities.Note) {
	qs.run.state.Answers = append(qs.run.state.Answers, note)
	qs.run.state.Answers = qs.notes()
}

// note returns a question and its answer, as agents see them.
func (i *interrupt) note() activities.Note {
	note := activities.Note{Kind: i.Kind, Stage: i.Stage, Question: i.Question, Answer: "Nobody answered."}
	if a := i.answer; a != nil {
		note.Answer, note.By = a.words(), a.By
	}
	return note
}

// MaxAnswer limits an answer, with its decision and data, in bytes of JSON, because it goes into the input of every later stage.
const MaxAnswer = 8 << 10

// maxNotes limits the answers that a stage sees, in bytes of JSON, because they are in
// the inputs of activities.
const maxNotes = 24 << 10

// notes returns the newest answers that fit into maxNotes.
func (qs *questions) notes() []activities.Note {
	size, first := 0, len(qs.run.state.Answers)
	for first > 0 {
		note := qs.run.state.Answers[first-1]
		if size += jsonSize(note); size > maxNotes {
			break
		}
		first--
	}
	return qs.run.state.Answers[first:]
}

func (a Answer) words() string {
	text := cmp.Or(a.Text, a.Decision)
	if a.Approved != nil && *a.Approved {
		text = "approved. " + text
	}
	if a.Approved != nil && !*a.Approved {
		text = "not approved. " + text
	}
	if len(a.Data) > 0 {
		text += " " + string(a.Data)
	}
	return text
}

const answerInput = `{"id": "…", "text": "…" or "approved": true or false or "decision": "…", "data": …, "by": "…"}`

// serveAnswers registers the update that answers questions.
func (qs *questions) serveAnswers(ctx workflow.Context) error {
	take := func(ctx workflow.Context, a Answer) (Interrupt, error) {
		i := qs.asked(a.ID)
		i.answer, i.Answered = &a, true
		said := audit.Detail("kind", i.Kind, "stage", i.Stage, "answer", a.words())
		qs.run.act(ctx, audit.Act{What: audit.Answered, Who: a.By, Call: i.ID, Detail: said})
		return i.Interrupt, nil
	}
	return update[Answer, Interrupt]{
		UpdateAnswer, "Answer a question; id can be omitted if only one is pending. Input: " + answerInput, answerInput,
		reading[Answer], qs.checkAnswer, take,
	}.serve(ctx)
}

// asking returns all questions to people, including those about limits and those of tool servers.
func (qs *questions) asking() []*interrupt {
	all := slices.Concat(qs.interrupts, qs.elicited)
	for _, q := range qs.run.bounds.asked {
		all = append(all, q.interrupt)
	}
	return all
}

// asked returns the open question that an answer is for. It is nil unless exactly one matches; an empty id matches all.
func (qs *questions) asked(id string) *interrupt {
	var open []*interrupt
	for _, i := range qs.asking() {
		if i.open() && (id == "" || id == i.ID) {
			open = append(open, i)
		}
	}
	if len(open) != 1 {
		return nil
	}
	return open[0]
}

// openQuestions lists the ids of the open questions, for an error.
func (qs *questions) openQuestions() string {
	var ids []string
	for _, q := range qs.open() {
		ids = append(ids, q.ID)
	}
	return strings.Join(ids, ", ")
}

func (qs *questions) checkAnswer(a Answer) error {
	i, open := qs.asked(a.ID), len(qs.open())
	switch {
	case open == 0:
		return notPending("no pending interrupt to resume")
	case i == nil && a.ID == "":
		return fmt.Errorf("%d questions are pending: select one with \"id\": %s", open, qs.openQuestions())
	case i == nil:
		return notPending("unknown question %q; available: %s", a.ID, qs.openQuestions())
	case jsonSize(a.words()) > MaxAnswer:
		return fmt.Errorf("the answer is longer than %d bytes as JSON, in which a special character can take up to six bytes", MaxAnswer)
	}
	if err := agent.CheckBy(a.By); err != nil {
		return err
	}
	kind := route.Ask(i.Kind)
	if i.review != nil {
		kind = route.Confirmation // its answer needs the same fields
	}
	return kinds[kind].check(a)
}

func textField(fields map[string]json.RawMessage, key string) string {
	var text string
	_ = json.Unmarshal(fields[key], &text)
	return text
}

// maxElicited limits the open questions of tool servers. Each is an update in progress. Temporal accepts ten per workflow, and
// people need some of them.
const maxElicited = 5

const elicitInput = `{"stage": "…", "question": "…", "data": {…}, "within": "30m"}`

// serveElicitations registers the update with which a tool call puts its server's question to people.
func (qs *questions) serveElicitations(ctx workflow.Context) error {
	check := func(e activities.Elicitation) error {
		switch {
		case e.Question == "" || e.Within <= 0:
			return errors.New("question or within is missing")
		case !qs.run.runs(e.Stage):
			return errors.New("stage " + e.Stage + " is not running")
		case len(qs.elicited) >= maxElicited:
			return fmt.Errorf("%d questions from tool servers are already open", len(qs.elicited))
		}
		return nil
	}
	return update[activities.Elicitation, activities.Elicited]{
		UpdateElicit, "Internal: a tool server asks people a question. Input: " + elicitInput, elicitInput,
		reading[activities.Elicitation], check, qs.elicit,
	}.serve(ctx)
}

// runs reports whether a run of a stage is in progress.
func (r *investigationRun) runs(stage string) bool {
	return slices.ContainsFunc(r.running, func(s *stageChild) bool { return s.plan.Name == stage })
}

// elicit puts a question to people. The question closes when its time is up or its stage has ended.
func (qs *questions) elicit(ctx workflow.Context, e activities.Elicitation) (activities.Elicited, error) {
	if qs.run.state.Asked >= maxAsked {
		return activities.Elicited{}, nil
	}
	qs.run.state.Asked++
	q := &interrupt{Interrupt: Interrupt{
		ID: qs.questionID(ctx, "t", qs.run.state.Asked), Kind: string(route.Clarification), Stage: e.Stage,
		Question: fit(e.Question, maxQuestion), Expires: workflow.Now(ctx).Add(e.Within.D()),
	}}
	if jsonSize(e.Data) <= maxQuestion {
		q.Data = e.Data
	}
	qs.elicited = append(qs.elicited, q)
	paused := func() bool { return qs.run.state.Steering.Paused }
	done := func() bool { return q.answer != nil || qs.run.over(ctx) || !qs.run.runs(e.Stage) }
	_, _ = awaitPeople(ctx, "question "+q.ID, &q.Expires, paused, done, func() {}) // no callback: recordStatus reports a new expiry
	q.closed = true
	qs.elicited = slices.DeleteFunc(slices.Clone(qs.elicited), func(other *interrupt) bool { return other == q })
	if q.answer == nil {
		said := audit.Detail("kind", q.Kind, "stage", q.Stage, "answer", "nobody answered")
		qs.run.act(ctx, audit.Act{What: audit.Answered, Call: q.ID, Detail: said})
		return activities.Elicited{}, nil
	}
	a := q.answer
	return activities.Elicited{Answered: true, Text: a.Text, Data: a.Data, By: a.By, Declined: a.Approved != nil && !*a.Approved}, nil
}
