package toolcall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/remember"
)

// Edit is the activity EditCall.
func Edit(ctx context.Context, a *job.Worker, in job.EditCallIn) (job.EditCallOut, error) {
	j, err := a.Job(ctx, in.Ref)
	if err != nil {
		return job.EditCallOut{}, err
	}
	out, err := Calls{j}.editCall(ctx, in)
	if refusal, refused := errors.AsType[*tool.Refusal](err); refused {
		return job.EditCallOut{Refused: job.Preview(refusal.Message)}, nil
	}
	return out, job.StoreFailure(job.Ended(ctx, err))
}

func (j Calls) editCall(ctx context.Context, in job.EditCallIn) (out job.EditCallOut, err error) {
	reply, err := j.Transcripts.Reply(ctx, j.Ref.Scope(), in.Iteration)
	if err != nil {
		return out, err
	}
	call, err := j.NthCall(reply, in.Iteration, in.Call)
	if err != nil {
		return out, err
	}
	tools, _, err := j.OfferedNow(ctx)
	if err != nil {
		return out, err
	}
	decision, err := tools.DecideIn(j.situation(ctx, call, true, false), call.Name, string(in.Arguments))
	if err != nil {
		return out, err
	}
	given, err := tool.Canonical(string(in.Arguments))
	switch {
	case err != nil:
		return out, err
	case !bytes.Equal(given, decision.Arguments):
		return out, refusedEdit("the tool's schema or limits would change the arguments to %s: edit the call with exactly these",
			decision.Arguments)
	case subCall(decision) != nil:
		return out, refusedEdit("the arguments of a call about other agents cannot be edited; deny the call and give a reason")
	}
	if out.Approve, err = j.approve(ctx, reply, call, decision, maxShown); err != nil {
		return out, err
	}
	out.Approve.Remember = "" // a rule would cover the agent's own arguments
	out.Edit, err = j.Blobs.PutBlob(ctx, decision.Arguments)
	return out, err
}

func refusedEdit(format string, args ...any) error {
	return &tool.Refusal{Type: tool.ErrorInvalidArguments, Message: fmt.Sprintf(format, args...)}
}

// edited replaces the agent's arguments with a person's. The agent is told with the result, where secrets are masked as
// they are for a person.
func (c *toolCall) edited(ctx context.Context) error {
	d := c.in.Decision
	if d == nil || d.Edit == "" {
		return nil
	}
	arguments, err := c.Blobs.Blob(ctx, d.Edit)
	if err != nil {
		return fmt.Errorf("read the arguments of %s: %w", c.call.Name, err)
	}
	c.call.Arguments = string(arguments)
	masker, err := c.Maskers.Get(c.Agent.MaskingOf(c.call.Name, c.Plan.AlertMasking))
	masked := ""
	if err == nil {
		masked, err = job.MaskText(ctx, masker, c.call.Arguments)
	}
	if err != nil {
		return job.Final(job.ErrorMasking, err)
	}
	c.call.Edited = fmt.Sprintf("A person (%s) edited the arguments of this call. It was made with these: %s", d.Names(), masked)
	return nil
}

// requesters returns the people who asked for the work: for an investigation its starter, for a conversation all its
// participants.
func (j Calls) requesters(ctx context.Context) (names []string, err error) {
	if !j.Plan.Conversation {
		r, err := j.About(ctx)
		if err == nil && r.Envelope.By != "" {
			names = append(names, r.Envelope.By)
		}
		return names, err
	}
	entries, err := j.Transcripts.Entries(ctx, j.Ref.Scope())
	for _, e := range entries {
		if e.Kind == transcript.KindUser && e.By != "" && !slices.Contains(names, e.By) {
			names = append(names, e.By)
		}
	}
	return names, err
}

// confirm asks the call's server for the tool's current definition. The call is made as a person approved it or as a
// rule allows it, or not at all. If the call has changed, c.reapproval is the call that needs a new decision.
func (c *toolCall) confirm(ctx context.Context, decision tool.Decision) (tool.Decision, *tool.Refusal, error) {
	begun := c.state.begunEarlier()
	notes := []string{"It is not the call that was approved."}
	switch {
	case c.in.Decision != nil:
	case decision.Repeated:
		notes = nil
	default:
		notes = []string{"The rule that allowed it is no longer valid."}
	}
	if c.rule != nil || decision.Digest() == c.in.Decision.GivenDigest() {
		if begun {
			return decision, nil, nil // the server was asked before the attempt that began the call
		}
		changed, err := c.redefined(ctx, decision.Spec)
		if err != nil || len(changed) == 0 {
			refusal, refused := errors.AsType[*tool.Refusal](err)
			if refused {
				err = nil
			}
			return decision, refusal, err
		}
		if notes = changedSince(c.rule, changed); c.rule != nil {
			c.outdated = true
		}
		tools, _, err := c.OfferedNow(ctx)
		if err != nil {
			return decision, nil, err
		}
		var refusal *tool.Refusal
		if decision, refusal, err = c.judge(ctx, tools); refusal != nil || err != nil {
			return decision, refusal, err
		}
		if decision.Digest() == c.in.Decision.GivenDigest() {
			return decision, nil, nil
		}
	}
	if begun && c.once(decision) {
		return decision, c.interrupted(), nil
	}
	if begun {
		notes = append(notes, "An earlier attempt started it and may have completed it.")
	}
	reapproval, err := c.approve(ctx, c.reply, c.call, decision, maxShown)
	if refusal, refused := errors.AsType[*tool.Refusal](err); refused {
		return decision, refusal, nil
	}
	if err == nil {
		reapproval.Notes = append(notes, reapproval.Notes...)
		if d := c.in.Decision; d != nil && d.Edit != "" {
			reapproval.Edit, reapproval.Remember = d.Edit, "" // a rule would cover the agent's own arguments
		}
		c.reapproval = reapproval
	}
	return decision, nil, err
}

// changedSince explains to the approver that a call was not made, and why.
func changedSince(rule *remember.Rule, changed []string) []string {
	word, since := "It was approved", "since then"
	if rule != nil {
		word, since = fmt.Sprintf("Rule %s of %s allows it", rule.ID, rule.By), "since the rule was created"
	}
	return append([]string{word + ", but it was not made: the tool's definition has changed " + since + "."}, changed...)
}

// once reports whether the call must not run twice, according to its class when it was requested or its class now.
func (c *toolCall) once(decision tool.Decision) bool {
	return c.call.Class == string(tool.NonIdempotent) || decision.Spec.Name != "" && decision.Spec.Class() == tool.NonIdempotent
}

// interrupted refuses a call that has begun and must not run twice.
func (c *toolCall) interrupted() *tool.Refusal {
	return &tool.Refusal{Type: tool.ErrorOutcomeUnknown, Message: tool.OutcomeUnknown(c.call.Name, c.interruption()).Content}
}

func (c *toolCall) interruption() string {
	switch c.state {
	case lost:
		return "The call was interrupted, and the store has lost the record of its start."
	case restored:
		return "The databases were restored from a backup after the call was requested, so it may have been made already."
	}
	return "The call was interrupted."
}

// redefined returns the differences between the approved definition of a tool, or the one a rule matched, and what its
// server says now. If there are any, the new definition is saved and applies from then on. The error is a *tool.Refusal
// if the server cannot be asked.
func (c *toolCall) redefined(ctx context.Context, approved tool.Spec) (lines []string, err error) {
	name, _ := tool.Split(approved.Name)
	server, ok := c.Server(name)
	if !ok {
		return nil, nil // a tool of the worker's own program, which decide has checked
	}
	catalogue, err := c.catalogue(ctx, server, listTimeout)
	if err != nil {
		return nil, err
	}
	switch {
	case catalogue.Error == "":
	case !c.in.Last:
		return nil, unlisted(catalogue)
	default:
		return nil, &tool.Refusal{Type: tool.ErrorUnavailable, Message: fmt.Sprintf(
			"Tool %s was not called: its server is unavailable, so its definition could not be compared with the approved one (%s).",
			approved.Name, catalogue.Error)}
	}
	lines = tool.Changes(
		tool.Catalogue{Server: name, Tools: []tool.Spec{approved}}, tool.Catalogue{Server: name, Tools: catalogue.Named(approved.Name)})
	if len(lines) == 0 {
		return nil, nil
	}
	if err := c.compare(ctx, &catalogue); err != nil {
		return nil, err
	}
	return lines, c.Transcripts.SaveCatalogue(ctx, c.Ref.Scope(), catalogue)
}
