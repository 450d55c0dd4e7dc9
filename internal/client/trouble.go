package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/workflows"
)

// troubles asks Temporal which activities of an investigation are waiting for the store or for a suitable worker. The workflows do
// not know that, and the store may be the one that is unavailable.
func (c *reader) troubles(ctx context.Context, h handle) []workflows.Trouble {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	const below = 2 // stages and their agents
	out := sealed{c.keys}.troubles(ctx, h.conn, h.Workflow, below)
	slices.SortFunc(out, func(a, b workflows.Trouble) int { return a.Since.Compare(b.Since) })
	return out
}

// sealed decodes what Temporal says about activities, which may be encrypted.
type sealed struct{ payload.Keys }

func (s sealed) troubles(ctx context.Context, conn sdk.Client, workflowID string, below int) (out []workflows.Trouble) {
	found, err := conn.DescribeWorkflowExecution(ctx, workflowID, "")
	if err != nil {
		return nil // it may just have ended
	}
	for _, a := range found.GetPendingActivities() {
		if trouble, ok := s.trouble(a); ok {
			trouble.Workflow = workflowID
			out = append(out, trouble)
		}
	}
	for _, child := range found.GetPendingChildren() {
		if below > 0 {
			out = append(out, s.troubles(ctx, conn, child.GetWorkflowId(), below-1)...)
		}
	}
	return out
}

// recentStart is how long a running attempt counts as failing like the one before. Activities that only use the store take no longer.
const recentStart = time.Minute

func (s sealed) trouble(a *workflowpb.PendingActivityInfo) (t workflows.Trouble, ok bool) {
	t = workflows.Trouble{Activity: a.GetActivityType().GetName(), Attempt: int(a.GetAttempt()), Since: a.GetScheduledTime().AsTime()}
	if end := a.GetExpirationTime(); end != nil {
		t.Since = end.AsTime().Add(-workflows.Patience)
	}
	if next := a.GetNextAttemptScheduleTime(); next != nil {
		t.Next = next.AsTime()
	}
	t.ErrorType = a.GetLastFailure().GetApplicationFailureInfo().GetType()
	if a.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED {
		began := a.GetLastStartedTime().AsTime()
		switch {
		case a.GetLastHeartbeatTime().AsTime().After(began) && s.waits(a) != "":
			t.ErrorType = s.waits(a)
		case time.Since(began) > recentStart:
			return t, false
		}
	}
	if t.ErrorType == activities.ErrorWorkerCannot {
		t.Error = s.message(a.GetLastFailure())
	}
	return t, t.ErrorType == activities.ErrorStore || t.ErrorType == activities.ErrorWorkerCannot
}

// waits returns the cause that the running attempt reports as the reason for waiting.
func (s sealed) waits(a *workflowpb.PendingActivityInfo) (errorType string) {
	return activities.ReadDoing(func(to any) error { return s.Converter(nil).FromPayloads(a.GetHeartbeatDetails(), to) }).Waits
}

// message returns the failure's own message without its wrapping.
func (s sealed) message(failure *failurepb.Failure) string {
	var read sdk.Options
	s.Protect(&read)
	err := read.FailureConverter.FailureToError(failure)
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return failed.Message()
	}
	return ""
}

// addTroubles adds to a status everything besides people that the investigation is waiting for.
func addTroubles(s *workflows.Status, all []workflows.Trouble) {
	s.Troubles = all
	words := []string{
		troubleLine("the store", all, activities.ErrorStore), troubleLine("a worker that can run it", all, activities.ErrorWorkerCannot),
	}
	words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
	if people := s.Status == agent.StatusPaused || len(s.Waiting)+len(s.Questions) > 0; people && len(words) > 0 {
		words = append([]string{s.WaitingFor}, words...)
	}
	s.WaitingFor = cmp.Or(strings.Join(words, "; and for "), s.WaitingFor)
}

// troubleLine describes the activities that wait because of an error type. An empty string means that there are none.
func troubleLine(what string, all []workflows.Trouble, errorType string) string {
	all = slices.DeleteFunc(slices.Clone(all), func(t workflows.Trouble) bool { return t.ErrorType != errorType })
	if len(all) == 0 {
		return ""
	}
	t := all[0]
	text := fmt.Sprintf("%s, since %s (%s of %s", what, record.Clock(t.Since), t.Activity, t.Workflow)
	if len(all) > 1 {
		text += fmt.Sprintf(" and %d more", len(all)-1)
	}
	text += fmt.Sprintf(", attempt %d", t.Attempt)
	if t.Error != "" {
		text += ": " + t.Error
	}
	if !t.Next.IsZero() {
		text += ", next at " + record.Clock(t.Next)
	}
	return text + ")"
}
