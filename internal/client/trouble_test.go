package client

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/workflows"
)

const (
	backingOff = enumspb.PENDING_ACTIVITY_STATE_SCHEDULED
	atWork     = enumspb.PENDING_ACTIVITY_STATE_STARTED
)

// People see Temporal's information on pending activities, without the text of a store's error.
func TestTroubles(t *testing.T) {
	t.Parallel()
	keys, err := payload.ParseKeys("k1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	for name, keys := range map[string]payload.Keys{"plain": {}, "encrypted": keys} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testTroubles(t, keys)
		})
	}
}

func testTroubles(t *testing.T, keys payload.Keys) {
	now := time.Now()
	pending := func(state enumspb.PendingActivityState, errorType string, started time.Duration,
		heartbeat string) *workflowpb.PendingActivityInfo {
		a := &workflowpb.PendingActivityInfo{
			ActivityType: &commonpb.ActivityType{Name: "Generate"}, State: state, Attempt: 7, ScheduledTime: timestamppb.New(now),
			ExpirationTime: timestamppb.New(now.Add(workflows.Patience - time.Hour)),
		}
		var worker sdk.Options
		keys.Protect(&worker)
		text := "postgres://inquest:s3cret@db: refused"
		if errorType == "WorkerCannot" {
			text = `this worker has unknown hook "h"`
		}
		if errorType != "" {
			a.LastFailure = worker.FailureConverter.ErrorToFailure(temporal.NewApplicationError(text, errorType))
		}
		if state == atWork {
			a.LastStartedTime = timestamppb.New(now.Add(-started))
		} else if errorType != "" {
			a.NextAttemptScheduleTime = timestamppb.New(now.Add(time.Minute))
		}
		if heartbeat != "" {
			a.HeartbeatDetails, _ = worker.DataConverter.ToPayloads(heartbeat)
			a.LastHeartbeatTime = timestamppb.New(now)
		}
		return a
	}
	for name, tt := range map[string]struct {
		activity *workflowpb.PendingActivityInfo
		says     string // empty means no problem
	}{
		"begins":                {pending(backingOff, "", 0, ""), ""},
		"works":                 {pending(atWork, "", time.Second, ""), ""},
		"the store is away":     {pending(backingOff, "Store", 0, ""), "the store, since SINCE (Generate of w, attempt 7, next at NEXT)"},
		"it is tried":           {pending(atWork, "Store", time.Second, ""), "the store, since SINCE (Generate of w, attempt 7)"},
		"it is back":            {pending(atWork, "Store", 5*time.Minute, ""), ""},
		"what is in hand waits": {pending(atWork, "", 5*time.Minute, "Store"), "the store, since SINCE (Generate of w, attempt 7)"},
		"an attempt before did": {pending(backingOff, "WorkerStopping", 0, "Store"), ""},
		"another worker is waited for": {pending(backingOff, "WorkerCannot", 0, ""),
			`a worker that can run it, since SINCE (Generate of w, attempt 7: this worker has unknown hook "h", next at NEXT)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []workflows.Trouble
			if trouble, ok := (sealed{keys}).trouble(tt.activity); ok {
				trouble.Workflow = "w"
				all = append(all, trouble)
			}
			s := workflows.Status{Status: agent.StatusRunning, WaitingFor: "the agents of stage dig"}
			addTroubles(&s, all)
			want := strings.NewReplacer("SINCE", record.Clock(now.Add(-time.Hour)), "NEXT", record.Clock(now.Add(time.Minute))).Replace(tt.says)
			if want == "" {
				want = "the agents of stage dig"
			}
			if diff := cmp.Diff(want, s.WaitingFor); diff != "" {
				t.Errorf("waits for (-want +got):\n%s", diff)
			}
		})
	}
}

// People are named first, and each kind of trouble once.
func TestTroublesBesidePeople(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 17, 14, 0, 9, 0, time.UTC)
	s := workflows.Status{Status: agent.StatusPaused, WaitingFor: "a person to resume or conclude it"}
	store := workflows.Trouble{Workflow: "w", Activity: "Finish", ErrorType: "Store", Since: at, Attempt: 2}
	addTroubles(&s, []workflows.Trouble{store, store, {Workflow: "w", Activity: "RunHook", ErrorType: "WorkerCannot", Since: at, Attempt: 1}})
	want := "a person to resume or conclude it; and for the store, since 14:00:09 UTC (Finish of w and 1 more, attempt 2); " +
		"and for a worker that can run it, since 14:00:09 UTC (RunHook of w, attempt 1)"
	if diff := cmp.Diff(want, s.WaitingFor); diff != "" || len(s.Troubles) != 3 {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
