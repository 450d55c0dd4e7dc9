package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/mask"
	"github.com/inquest-dev/inquest/workflows"
)

const (
	// maxScheduled is the most data that a schedule keeps in Temporal, in bytes.
	maxScheduled = 64 << 10
	// catchUp is how late an investigation may start, for example after an outage. Of several that were missed, one starts.
	catchUp = time.Hour

	schedulesPage = 100
	// scheduleTimeout limits calls about schedules. A schedule is a workflow of Temporal itself, which answers only after its task has
	// timed out (10 s) if the server that had the task was killed.
	scheduleTimeout = 25 * time.Second
)

// schedulePrefix begins the IDs of the Temporal Schedules of a fleet. The project and the name of the schedule follow.
func (c *scheduler) schedulePrefix() string { return "inquest-schedule-" + c.opts.TaskQueue + "/" }

func (c *scheduler) scheduleID(project, name string) string {
	return c.schedulePrefix() + cmp.Or(project, agent.DefaultProject) + "/" + name
}

// CreateSchedule creates a Temporal Schedule that starts investigations. They are masked and checked like those that Start starts.
func (c *scheduler) CreateSchedule(ctx context.Context, s system.Start, by agent.Identity) (out system.Schedule, err error) {
	req := &s.Request
	if len(s.Data) > maxScheduled {
		err := fmt.Errorf(`"data" has %d bytes; a schedule can repeat at most %d`, len(s.Data), maxScheduled)
		return out, &system.InputError{Err: err}
	}
	own := *req.Schedule
	own.ID = system.RandomID("s")
	req.Schedule, req.Again = &own, req.Fingerprint == "" // each investigation has the same data
	if err := c.putData(ctx, &s); err != nil {
		return out, err
	}
	st, conn, err := c.both(ctx)
	if err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, scheduleTimeout)
	defer cancel()
	action := sdk.ScheduleWorkflowAction{
		ID: req.Schedule.Name, Workflow: workflows.TypeInvestigation, Args: []any{*req}, TaskQueue: c.opts.TaskQueue,
		WorkflowTaskTimeout: workflows.WorkflowTaskTimeout, StaticSummary: summary(*req), Priority: workflows.Priority(req.Labels),
	}
	if p := req.Project; p != "" && p != agent.DefaultProject {
		action.ID = p + "." + action.ID // no name has a dot, so IDs of projects differ
	}
	if req.Project != "" {
		action.Memo = map[string]any{memoProject: req.Project}
	}
	_, err = conn.ScheduleClient().Create(ctx, sdk.ScheduleOptions{
		ID: c.scheduleID(req.Project, req.Schedule.Name), Spec: specOf(*req.Schedule), Action: &action,
		Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: catchUp,
	})
	_, invalid := errors.AsType[*serviceerror.InvalidArgument](err)
	switch {
	case errors.Is(err, temporal.ErrScheduleAlreadyRunning):
		const text = "the project %s has a schedule %s already: delete it first, or use another name"
		return out, &system.InputError{Err: fmt.Errorf(text, cmp.Or(req.Project, agent.DefaultProject), req.Schedule.Name)}
	case invalid:
		return out, &system.InputError{Err: fmt.Errorf("Temporal has refused the schedule: %w", err)}
	case err != nil:
		return out, fmt.Errorf("create the schedule %s: %w", req.Schedule.Name, err)
	}
	in := system.ScheduleIn{ProjectIn: system.ProjectIn{Project: req.Project}, Name: req.Schedule.Name}
	if err := noteSchedule(ctx, st, in, by, "create", ""); err != nil {
		return out, err
	}
	return c.schedule(ctx, conn, st, in)
}

func specOf(s agent.Schedule) sdk.ScheduleSpec {
	spec := sdk.ScheduleSpec{CronExpressions: s.Cron, TimeZoneName: s.Timezone}
	if every := s.Interval(); every > 0 {
		spec.Intervals = []sdk.ScheduleIntervalSpec{{Every: every}}
	}
	return spec
}

// both returns the store and the connection to Temporal.
func (c *scheduler) both(ctx context.Context) (*store.Store, sdk.Client, error) {
	st, err := c.needStore(ctx)
	if err != nil {
		return nil, nil, err
	}
	conn, err := c.temporal(ctx)
	return st, conn, err
}

// noteTimeout limits the write to the audit trail, which is made even if the caller has left: Temporal has carried out the change.
const noteTimeout = 10 * time.Second

// noteSchedule adds a change to the audit trail.
func noteSchedule(ctx context.Context, st *store.Store, in system.ScheduleIn, by agent.Identity, action, reason string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	act := actOf("", by)
	act.What, act.At = audit.ScheduleChanged, time.Now()
	act.Detail = audit.Detail("action", action, "schedule", in.Name, "project", projectOf(in), "reason", mask.Shown(ctx, reason))
	if err := st.Audit(ctx, act); err != nil {
		return fmt.Errorf("schedule %s: done (%s), but not in the audit trail: %w", in.Name, action, err)
	}
	return nil
}

func projectOf(in system.ScheduleIn) string { return cmp.Or(in.Project, agent.DefaultProject) }

// Schedules returns the schedules of some projects, by project and name. Nil means all. Temporal may list a new one a moment later.
func (c *scheduler) Schedules(ctx context.Context, projects []string) (all []system.Schedule, err error) {
	st, conn, err := c.both(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, scheduleTimeout)
	defer cancel()
	list, err := conn.ScheduleClient().List(ctx, sdk.ScheduleListOptions{PageSize: schedulesPage})
	for err == nil && list.HasNext() {
		var entry *sdk.ScheduleListEntry
		if entry, err = list.Next(); err != nil {
			break
		}
		place, ours := strings.CutPrefix(entry.ID, c.schedulePrefix())
		project, name, ok := strings.Cut(place, "/")
		if !ours || !ok || projects != nil && !slices.Contains(projects, project) {
			continue
		}
		one, err := c.schedule(ctx, conn, st, system.ScheduleIn{ProjectIn: system.ProjectIn{Project: project}, Name: name})
		if err == nil { // otherwise it was deleted meanwhile
			all = append(all, one)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("list the schedules: %w", err)
	}
	slices.SortFunc(all, func(a, b system.Schedule) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// schedule returns a schedule. The only error is record.ErrNotFound: if the schedule cannot be read, Problem says why, because people must
// be able to stop it all the same.
func (c *scheduler) schedule(
	ctx context.Context, conn sdk.Client, st *store.Store, in system.ScheduleIn,
) (out system.Schedule, err error) {
	out.Project, out.Name = projectOf(in), in.Name
	d, err := conn.ScheduleClient().GetHandle(ctx, c.scheduleID(in.Project, in.Name)).Describe(ctx)
	if err != nil {
		if err = noSchedule(in, err); errors.Is(err, record.ErrNotFound) {
			return out, err
		}
		out.Problem = err.Error()
		return out, nil
	}
	out.Created, out.Paused, out.Note = d.Info.CreatedAt, d.Schedule.State.Paused, d.Schedule.State.Note
	out.Missed, out.Skipped = d.Info.NumActionsMissedCatchupWindow, d.Info.NumActionsSkippedOverlap
	if next := d.Info.NextActionTimes; len(next) > 0 && !out.Paused {
		out.Next = &next[0]
	}
	if running := d.Info.RunningWorkflows; len(running) > 0 {
		out.Running = running[0].WorkflowID
	}
	var req agent.Request
	if action, ok := d.Schedule.Action.(*sdk.ScheduleWorkflowAction); ok && len(action.Args) == 1 {
		if body, ok := action.Args[0].(*commonpb.Payload); ok {
			err = c.keys.Converter(nil).FromPayload(body, &req)
		}
	}
	if err == nil && (req.Schedule == nil || req.Schedule.Name != in.Name || cmp.Or(req.Project, agent.DefaultProject) != out.Project) {
		err = errors.New("it was changed in Temporal")
	}
	if err != nil {
		out.Problem = fmt.Sprintf("its request cannot be read: %v", err)
		return out, nil
	}
	out.Schedule, out.Chain, out.AlertType, out.By = *req.Schedule, req.Chain, req.AlertType, req.By
	runs, err := st.ScheduleRuns(ctx, out.Project, out.Schedule, "", time.Now().Add(-record.ScheduleDay))
	if err != nil {
		out.Problem = err.Error()
	}
	out.CostUSD, out.Last, out.LastCheck = runs.CostUSD, runs.Last, runs.Check
	return out, nil
}

// noSchedule explains an error about a schedule.
func noSchedule(in system.ScheduleIn, err error) error {
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return fmt.Errorf("schedule %s in project %s: %w", in.Name, projectOf(in), record.ErrNotFound)
	}
	return fmt.Errorf("schedule %s: %w", in.Name, err)
}

// ChangeSchedule pauses or resumes a schedule, or starts an investigation now. It returns record.ErrNotFound if there is no such schedule.
func (c *scheduler) ChangeSchedule(
	ctx context.Context, in system.ChangeScheduleIn, by agent.Identity,
) (out system.Schedule, err error) {
	if !slices.Contains(system.ScheduleActions(), in.Body.Action) {
		return out, &system.InputError{Err: fmt.Errorf("action %q is not one of %v", in.Body.Action, system.ScheduleActions())}
	}
	st, conn, err := c.both(ctx)
	if err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, scheduleTimeout)
	defer cancel()
	handle := conn.ScheduleClient().GetHandle(ctx, c.scheduleID(in.Project, in.Name))
	note := strings.TrimSuffix(fmt.Sprintf("%sd by %s: %s", in.Body.Action, by.Name, mask.Shown(ctx, in.Body.Reason)), ": ")
	switch in.Body.Action {
	case system.SchedulePause:
		err = handle.Pause(ctx, sdk.SchedulePauseOptions{Note: note})
	case system.ScheduleResume:
		err = handle.Unpause(ctx, sdk.ScheduleUnpauseOptions{Note: note})
	case system.ScheduleRunNow:
		if out, err = c.schedule(ctx, conn, st, in.ScheduleIn); err != nil {
			return out, err
		}
		if out.Running != "" {
			return out, &system.InputError{Err: fmt.Errorf("an investigation of the schedule %s is running: %s", in.Name, out.Running)}
		}
		err = handle.Trigger(ctx, sdk.ScheduleTriggerOptions{})
	}
	if err != nil {
		return out, noSchedule(in.ScheduleIn, err)
	}
	if err := noteSchedule(ctx, st, in.ScheduleIn, by, string(in.Body.Action), in.Body.Reason); err != nil {
		return out, err
	}
	return c.schedule(ctx, conn, st, in.ScheduleIn)
}

// DeleteSchedule deletes a schedule. Its investigations stay, and one that is running continues.
func (c *scheduler) DeleteSchedule(ctx context.Context, in system.ScheduleIn, by agent.Identity) error {
	st, conn, err := c.both(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, scheduleTimeout)
	defer cancel()
	if err := conn.ScheduleClient().GetHandle(ctx, c.scheduleID(in.Project, in.Name)).Delete(ctx); err != nil {
		return noSchedule(in, err)
	}
	return noteSchedule(ctx, st, in, by, "delete", "")
}
