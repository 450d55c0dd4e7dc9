package record

import (
	"errors"
	"fmt"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

// ReviewState is how far people have checked the result of an ended investigation.
type ReviewState string

// The states.
const (
	NeedsReview ReviewState = "needs_review"
	InReview    ReviewState = "in_progress"
	Reviewed    ReviewState = "reviewed"
)

// ReviewStates returns all states.
func ReviewStates() []ReviewState { return []ReviewState{NeedsReview, InReview, Reviewed} }

// ReviewAction is what a person does with a review.
type ReviewAction string

// The actions. ReviewRate is that of somebody who rates the investigation.
const (
	ReviewClaim       ReviewAction = "claim"
	ReviewRelease     ReviewAction = "release"
	ReviewAcknowledge ReviewAction = "acknowledge"
	ReviewReopen      ReviewAction = "reopen"
	ReviewRate        ReviewAction = "rate"
)

// ReviewActions returns the actions that are not a rating.
func ReviewActions() []ReviewAction {
	return []ReviewAction{ReviewClaim, ReviewRelease, ReviewAcknowledge, ReviewReopen}
}

// Review is the state of the review of an ended investigation. Anyone may claim it, even from another person, or release it. A rating or
// an acknowledgement completes it, claimed or not. Reopening clears it.
type Review struct {
	Investigation string      `json:"-"`
	Run           string      `json:"-"` // Investigation.Writer: the run whose result is reviewed
	State         ReviewState `json:"state" enum:"needs_review,in_progress,reviewed"`
	Assignee      string      `json:"assignee,omitempty" doc:"who claimed it; absent means nobody, or a request without authentication"`
	AssignedAt    *time.Time  `json:"assigned_at,omitempty" doc:"absent means that nobody has claimed it"`
	Reviewer      string      `json:"reviewer,omitempty" doc:"who rated or acknowledged the investigation last"`
	ReviewedAt    *time.Time  `json:"reviewed_at,omitempty" doc:"absent means that the review is not complete"`
}

// ErrReviewState means that an action does not fit the state of the review.
var ErrReviewState = errors.New("the review does not allow this")

// ReviewOf returns the review of an investigation, given its stored row; nil means that it has none. The result is nil if the
// investigation has not ended. The row of an earlier run does not count. Cancelled and terminated investigations and trials need no review
// unless somebody reopens it.
func ReviewOf(r Investigation, stored *Review) *Review {
	if r.EndedAt == nil {
		return nil
	}
	known := stored != nil && stored.Run == r.Writer
	out := Review{Investigation: r.ID, Run: r.Writer, State: NeedsReview}
	if known {
		out = *stored
		out.State = NeedsReview
	}
	unwanted := r.Status == agent.StatusCancelled || r.Status == agent.StatusTerminated || r.Unchanged() || r.Envelope.Trial
	switch {
	case out.ReviewedAt != nil, !known && unwanted:
		out.State = Reviewed
	case out.AssignedAt != nil:
		out.State = InReview
	}
	return &out
}

// Apply returns the review after a person's action, or ErrReviewState.
func (r Review) Apply(action ReviewAction, by string, at time.Time) (Review, error) {
	switch {
	case action == ReviewClaim && r.State != Reviewed:
		r.State, r.Assignee, r.AssignedAt = InReview, by, &at
	case action == ReviewRelease && r.State == InReview:
		r.State, r.Assignee, r.AssignedAt = NeedsReview, "", nil
	case action == ReviewReopen && r.State == Reviewed:
		r = Review{Investigation: r.Investigation, Run: r.Run, State: NeedsReview}
	case action == ReviewRate, action == ReviewAcknowledge:
		if r.AssignedAt == nil {
			r.Assignee, r.AssignedAt = by, &at
		}
		r.State, r.Reviewer, r.ReviewedAt = Reviewed, by, &at
	case action == ReviewReopen:
		return r, fmt.Errorf("%w: it is not complete", ErrReviewState)
	case r.State == Reviewed:
		return r, fmt.Errorf("%w: it is complete; reopen it first", ErrReviewState)
	default:
		return r, fmt.Errorf("%w: nobody has claimed it", ErrReviewState)
	}
	return r, nil
}

// Unchanged reports whether the investigation is a check with the same verdict and problems as the one before. If it was terminated, a
// verdict is that of an earlier run, before a reset.
func (r Investigation) Unchanged() bool {
	c := r.Envelope.Check
	return c != nil && !c.Changed && r.Status != agent.StatusTerminated
}
