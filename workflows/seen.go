package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/route"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// maxSeen bounds the entries that an activity must require: a reply has at most 64 calls. maxSeenOn bounds
// the entries that one stage passes to the next: the last entries of that many agents.
const (
	maxSeen   = 80
	maxSeenOn = 16
)

// addSeen adds marks to those that are known, and keeps the newest. It never changes known.
func addSeen(known []transcript.Mark, marks ...transcript.Mark) []transcript.Mark {
	known = slices.Clone(known)
	for _, m := range marks {
		if m.Seq > 0 && !slices.Contains(known, m) {
			known = append(known, m)
		}
	}
	slices.SortStableFunc(known, func(a, b transcript.Mark) int { return int(a.Seq - b.Seq) })
	return newest(known, maxSeen)
}

// ref names the execution to an activity that makes calls.
func (r *agentRun) ref() activities.Ref {
	ref := r.in.Ref
	ref.Seen = r.state.Seen
	return ref
}

// saw adds entries to those that the next model call requires.
func (r *agentRun) saw(marks ...transcript.Mark) { r.state.Seen = addSeen(r.state.Seen, marks...) }

// newestSeen returns only the mark with the highest number.
func newestSeen(known []transcript.Mark) []transcript.Mark { return newest(addSeen(known), 1) }

// replaceSeen forgets the entries that a model call has required: its reply, which it wrote after them, stands for all.
func (r *agentRun) replaceSeen(reply transcript.Mark) {
	if reply.Seq > 0 {
		r.state.Seen = []transcript.Mark{reply}
	}
}

// An activity that finds the store older than Temporal's history fails with the type ErrorStoreBehind, and then nothing in
// the investigation may make another call: not the agent, not those that work beside it, not the agent that dispatched it,
// and no later stage, whatever its chain says about errors.

// isBehind reports whether an error says that the store is older than Temporal's history.
func isBehind(err error) bool {
	if err == nil {
		return false
	}
	errorType, _ := failure(err)
	return errorType == activities.ErrorStoreBehind
}

// noteBehind keeps the agent from making more calls if err says that the store is older than Temporal's history.
func (r *agentRun) noteBehind(err error) {
	if r.behind == nil && isBehind(err) {
		r.behind = err
	}
}

// noteSubBehind is noteBehind for the result of an agent that this one dispatched.
func (r *agentRun) noteSubBehind(result AgentResult) {
	if result.ErrorType == activities.ErrorStoreBehind {
		r.noteBehind(temporal.NewNonRetryableApplicationError(result.Error, result.ErrorType, nil))
	}
}

// behind returns the agent that found the store older than Temporal's history, or nil.
func (r *stageRun) behind() *member {
	for _, m := range r.agents {
		if m.closed && m.result.ErrorType == activities.ErrorStoreBehind {
			return m
		}
	}
	return nil
}

// notSaved makes the stage fail because its end is not in the store. The investigation saves it later, if it can.
func (r *stageRun) notSaved(err error) {
	errorType, message := failure(err)
	r.result.Started, r.result.Ended = time.Time{}, time.Time{}
	if r.result.Status == agent.StatusCompleted || isBehind(err) {
		r.result.Status, r.result.Outcome = agent.StatusFailed, agent.OutcomeError
		r.result.ErrorType, r.result.Error = errorType, clip.Text(message, 2000)
	}
}

// stopBehind ends the chain at a stage that found the store older than Temporal's history, whatever else has ended it. It
// cancels the other stages.
func (r *investigationRun) stopBehind(way route.Walk, s *stageChild, result StageResult) {
	way.Stop(agent.EndStoreBehind)
	r.state.Walk.End = agent.EndStoreBehind
	r.result.Error = fmt.Sprintf("stage %s: %s", s.plan.Name, result.why())
	r.cancelStages()
}
