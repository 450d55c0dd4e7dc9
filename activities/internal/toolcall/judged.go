package toolcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/score"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
	"github.com/inquest-dev/inquest/internal/trust/remember"
)

// Calls are the calls of one execution.
type Calls struct{ *job.Job }

// Judged summarises a reply for the workflow, including whether it meets the contract and which calls need approval.
// The reply is already in the transcript at this point, so a failure here does not cost a second model call.
func (j Calls) Judged(ctx context.Context, entries []transcript.Entry) (job.GenerateOut, error) {
	out := job.Outcome(entries)
	n := slices.IndexFunc(entries, func(e transcript.Entry) bool { return e.Kind == transcript.KindReply })
	if n < 0 {
		return out, nil
	}
	reply := entries[n]
	if len(reply.Calls) == 0 {
		var err error
		if out.Invalid = j.Invalid(reply.Text); out.Invalid == "" {
			out.Invalid, err = j.unproven(ctx, reply)
		} else {
			out.Stands = j.mayStand()
		}
		if j.Row.Name == job.ScoringType {
			_, _, out.Scored = score.Parse(reply.Text)
		}
		return out, err
	}
	if reply.Forced { // no tools were offered
		return out, nil
	}
	if reply.Shared > 0 { // its results are shared, too: nothing is called, and nobody is asked
		for _, call := range reply.Calls {
			out.Calls = append(out.Calls, job.Call{Name: call.Name, Own: true, Quick: true})
		}
		return out, nil
	}
	if j.Tools == nil {
		if _, _, err := j.OfferedNow(ctx); err != nil {
			return out, err
		}
	}
	for _, call := range reply.Calls {
		judged, err := j.judgedCall(ctx, reply, call)
		if err != nil {
			return out, err
		}
		out.Calls = append(out.Calls, judged)
	}
	return out, nil
}

// mayStand reports whether a text that violates the contract may be used as a partial result. Otherwise the agent fails. A
// partial result is not allowed in conversations, outside stages, for reviewers, or if the stage's routing, review or hook
// relies on the text.
func (j Calls) mayStand() bool {
	if j.Plan.Conversation || j.Ref.Stage < 0 || j.Ref.Agent == plan.ReviewIndex {
		return false
	}
	stage, _ := j.Plan.StageAt(j.Ref.Stage)
	r := stage.Routing
	return len(r.Rules) == 0 && r.LoopTarget == "" && r.ErrorNext == "" && r.OnApprove == "" && r.Review == nil && stage.PostProcess == ""
}

// unproven describes the errors in the evidence of an agent's last reply; "" means nothing. The agent is asked to fix
// it only once. Remaining errors are marked where the text is shown.
func (j Calls) unproven(ctx context.Context, reply transcript.Entry) (string, error) {
	if !j.NamesEvidence() || strings.TrimSpace(reply.Text) == "" {
		return "", nil
	}
	entries, err := j.Transcripts.Entries(ctx, j.Ref.Scope())
	if err != nil {
		return "", fmt.Errorf("read transcript: %w", err)
	}
	for _, e := range entries {
		if e.Kind == transcript.KindUser && prompt.Repairs(e.Text) {
			return "", nil
		}
	}
	if entries, err = j.Transcripts.After(ctx, j.Ref.Investigation, 0, 0); err != nil {
		return "", fmt.Errorf("read the journal of %s: %w", j.Ref.Investigation, err)
	}
	problem, err := evidence.Problem(ctx, j.Ref.Execution, reply.Text, entries, j.Blobs.Blob)
	if problem == "" || err != nil {
		return "", err
	}
	return clip.Bytes(tool.ValidText(prompt.AboutEvidence+problem), 500), nil
}

// judgedCall summarises a call for the workflow. A call that the policy refuses needs no approval, and
// any worker can answer it.
func (j Calls) judgedCall(ctx context.Context, reply transcript.Entry, call transcript.Call) (job.Call, error) {
	recorded, err := j.recorded(ctx, j.Tools, call)
	if err != nil {
		return job.Call{}, err
	}
	decision, err := j.Tools.DecideIn(j.situation(ctx, call, false, recorded), call.Name, call.Arguments)
	if _, refused := errors.AsType[*tool.Refusal](err); refused {
		return job.Call{Name: call.Name}, nil
	}
	if err != nil {
		return job.Call{}, err
	}
	if recorded {
		return job.Call{Name: call.Name, Own: true, Quick: true}, nil
	}
	out := job.Call{Name: call.Name, Queue: call.Queue, Own: call.Own, Sub: subCall(decision)}
	if decision.NeedsApproval {
		out.Approve, err = j.approve(ctx, reply, call, decision, min(maxShownTogether/len(reply.Calls), maxShown))
	} else if decision.Rule == nil && out.Queue == "" && !out.Own && out.Sub == nil && decision.Spec.Class() == tool.Safe {
		out.Quick = j.Quick(ctx, decision.Spec.Name, j.Agent.Tools.QuickUnder)
	}
	if _, refused := errors.AsType[*tool.Refusal](err); refused {
		return job.Call{Name: call.Name}, nil
	}
	return out, err
}

// situation returns the circumstances of a call for the policy. A call that a person has decided needs no rule, and one that a recording
// answers repeats nothing.
func (j Calls) situation(ctx context.Context, call transcript.Call, decided, recorded bool) tool.Situation {
	if recorded {
		call.Repeat = nil
	}
	in := tool.Situation{
		Untrusted: call.Untrusted, Repeat: call.Repeat, Replayed: j.Replayed || recorded,
		Place: remember.Where{
			Project: j.Plan.Project, Chain: j.Plan.Chain, Stage: j.Stage().Name, Environment: j.Plan.Environment,
		},
	}
	if j.Rules != nil && !decided {
		in.Rules = func(name string) ([]remember.Rule, error) { return j.Rules.Rules(ctx, name, false) }
	}
	return in
}

// subCall summarises a call that the workflow carries out itself; nil if an activity makes the call.
func subCall(d tool.Decision) *job.SubCall {
	if !slices.Contains(agent.OrchestrationTools(), d.Spec.Name) {
		return nil
	}
	var out job.SubCall
	_ = json.Unmarshal(d.Arguments, &out) // the schema has been checked
	out.Name, out.Execution = clip.Text(out.Name, maxSubName), clip.Text(out.Execution, maxSubName)
	return &out
}
