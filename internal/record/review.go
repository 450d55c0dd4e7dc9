package record

import (
	"errors"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

// ReviewState is how far people have checked an investigation.
type ReviewState string

// The states. A new investigation has none of them until it ends or somebody claims it.
const (
	NeedsReview ReviewState = "needs_review"
	InReview    ReviewState = "in_progress"
	Reviewed    ReviewState = "reviewed"
)

// ReviewStates returns all states.
func ReviewStates() []ReviewState { return []ReviewState{NeedsReview, InReview, Reviewed} }

// ReviewAction is what a person does with a review.
type ReviewAction string

// The actions. ReviewRate is a rating.
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

// Review is the state of the review of an investigation. The rules are those of TARSy: claim takes over another person's claim, release
// gives it back, a rating or an acknowledgement completes the review with or without a claim, and reopen starts anew.
type Review struct {
	Investigation string      `json:"-"`
	State         ReviewState `json:"state" enum:"needs_review,in_progress,reviewed"`
	Assignee      string      `json:"assignee,omitempty" doc:"who claimed the review; absent means nobody, or somebody unknown"`
	AssignedAt    *time.Time  `json:"assigned_at,omitempty"`
	Reviewer      string      `json:"reviewer,omitempty" doc:"who rated or acknowledged the investigation last"`
	ReviewedAt    *time.Time  `json:"reviewed_at,omitempty"`
}

// ErrReviewState means that an action does not fit the state of the review.
var ErrReviewState = errors.New("the state of the review does not allow this")

// unfit is why an action does not fit. It is an ErrReviewState.
type unfit string

func (u unfit) Error() string        { return string(u) }
func (u unfit) Is(target error) bool { return target == ErrReviewState }

// ReviewOf returns the review of an investigation. stored is what the store has about it; nil means nothing. The result is nil if the
// investigation is still running and nobody has claimed it. Nobody needs to review what people have stopped.
func ReviewOf(r Investigation, stored *Review) *Review {
	out := Review{Investigation: r.ID}
	if stored != nil {
		out = *stored
	}
	stopped := r.Status == agent.StatusCancelled || r.Status == agent.StatusTerminated
	switch {
	case out.ReviewedAt != nil, stored == nil && stopped:
		out.State = Reviewed
	case out.AssignedAt != nil:
		out.State = InReview
	case r.EndedAt == nil:
		return nil
	default:
		out.State = NeedsReview
	}
	return &out
}

// After returns the review after a person's action, or ErrReviewState.
func (r Review) After(action ReviewAction, by string, at time.Time) (Review, error) {
	switch {
	case action == ReviewClaim && r.State != Reviewed:
		r.State, r.Assignee, r.AssignedAt = InReview, by, &at
	case action == ReviewRelease && r.State == InReview:
		r.State, r.Assignee, r.AssignedAt = NeedsReview, "", nil
	case action == ReviewReopen && r.State == Reviewed:
		r = Review{Investigation: r.Investigation, State: NeedsReview}
	case action == ReviewRate, action == ReviewAcknowledge:
		if r.AssignedAt == nil {
			r.Assignee, r.AssignedAt = by, &at
		}
		r.State, r.Reviewer, r.ReviewedAt = Reviewed, by, &at
	case action == ReviewReopen:
		return r, unfit("the review is not complete")
	case r.State == Reviewed:
		return r, unfit("the review is complete: reopen it first")
	default:
		return r, unfit("nobody has claimed the review")
	}
	return r, nil
}
