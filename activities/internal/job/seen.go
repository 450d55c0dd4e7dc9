package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// A store that was restored from a backup, or that failed over to a replica without the last commits, is older than
// Temporal's history. A model that works with such a store repeats its writes, so no activity makes a call on one. The
// check rests on two facts: a store loses only its newest commits, and the entries of an investigation are numbered in
// commit order. So a store that has the newest entry that a workflow has seen has all earlier ones. An activity checks
// before it makes a call, and each of its writes (Job.Step) requires the same entries in its own transaction, because the
// failover may come during the call.

// RequireSeen returns an error of type ErrorStoreBehind if the store lacks an entry that the workflow has seen. It skips
// the entries in log, which the activity has already read.
func (j *Job) RequireSeen(ctx context.Context, log []transcript.Entry) error {
	unread := slices.DeleteFunc(slices.Clone(j.Ref.Seen), func(m transcript.Mark) bool {
		return slices.ContainsFunc(log, func(e transcript.Entry) bool { return e.Mark() == m })
	})
	return j.Require(ctx, j.Ref.Investigation, unread)
}

// Require returns an error of type ErrorStoreBehind if the store lacks one of the entries.
func (a *Worker) Require(ctx context.Context, investigation string, marks []transcript.Mark) error {
	missing, err := a.Transcripts.Missing(ctx, investigation, marks)
	if err != nil || len(missing) == 0 {
		return err
	}
	return lostEntries(&transcript.BehindError{Investigation: investigation, Missing: missing})
}

func lostEntries(lost *transcript.BehindError) error {
	first := slices.MinFunc(lost.Missing, func(a, b transcript.Mark) int { return cmp.Compare(a.Seq, b.Seq) })
	at := time.UnixMicro(first.At).UTC().Format(time.RFC3339)
	return storeBehind(lost.Investigation, fmt.Sprintf("entry %d, written at %s", first.Seq, at))
}

// RequirePlan reads the plan of an investigation whose workflow has seen these entries. It returns an error of type
// ErrorStoreBehind if the plan is not there: the plan was written before them.
func (a *Worker) RequirePlan(ctx context.Context, investigation, hash string, seen []transcript.Mark) (plan.Plan, error) {
	p, err := a.ReadPlan(ctx, hash)
	if err == nil || len(seen) == 0 {
		return p, err
	}
	if _, lost := a.Blobs.Blob(ctx, hash); errors.Is(lost, record.ErrNotFound) {
		return p, storeBehind(investigation, "the plan "+hash)
	}
	return p, err
}

// storeBehind is the failure of an activity that must not continue. No retry brings the entries back.
func storeBehind(investigation, what string) error {
	return Final(ErrorStoreBehind, fmt.Errorf("the store is missing %s, which Temporal's history of %s refers to. The store was "+
		"probably restored from a backup, or lost its last commits in a failover. No more calls are made, because they could repeat "+
		"earlier actions. Run \"starter store check %s\" to see what is missing", what, investigation, investigation))
}

// RequireShared returns an error if an iteration that a fork shares is not stored, or if the execution makes no calls of its own: then
// nothing may be done in its place. stored says whether the iteration is stored.
func (j *Job) RequireShared(iteration int, stored bool) error {
	part := j.Plan.Fork.Part(j.Ref.Execution)
	switch {
	case stored:
		return nil
	case iteration <= part.Iterations:
		what := fmt.Sprintf("iteration %d of %s, which is shared with %s", iteration, j.Ref.Execution, j.Plan.Fork.Of)
		return storeBehind(j.Ref.Investigation, what)
	case part.Stopped:
		return Final(ErrorFailedBefore, fmt.Errorf("it had failed, or was stopped, in %s, and is not tried again", j.Plan.Fork.Of))
	}
	return nil
}
