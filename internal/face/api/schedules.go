package api

import (
	"cmp"
	"context"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/system"
)

// schedules serves the schedules of projects.
type schedules struct{ base }

func (h schedules) routes(to *Server) {
	register(to, system.ListSchedules, h.list)
	register(to, system.CreateSchedule, h.create)
	register(to, system.ChangeSchedule, h.change)
	register(to, system.DeleteSchedule, h.delete)
}

func (h schedules) list(ctx context.Context, in *system.SchedulesIn) (*body[system.Page[system.Schedule]], error) {
	projects, err := accessOf(ctx).within(in.Project)
	if err != nil {
		return nil, err
	}
	all, err := h.opts.System.Schedules(ctx, projects)
	return reply(system.Page[system.Schedule]{Items: append([]system.Schedule{}, all...)}), err
}

// create creates a schedule, unless its request has no plan: nobody waits for the investigations, who would see that they are refused.
func (h schedules) create(ctx context.Context, in *system.CreateScheduleIn) (*body[system.Schedule], error) {
	who, req := accessOf(ctx), in.Body.Request()
	var err error
	if req.Project, err = who.owner(in.Body.Project); err != nil {
		return nil, err
	}
	req.Schedule, req.By = &in.Body.Schedule, who.by()
	req.Schedule.Timezone = cmp.Or(req.Schedule.Timezone, h.opts.Config().System.Timezone)
	if err := req.Validate(); err != nil {
		return nil, &system.InputError{Err: err}
	}
	if _, err := h.plan(ctx, h.opts.Config(), req); err != nil {
		return nil, err
	}
	st := system.Start{Request: req, Data: agent.Request{Data: in.Body.Data}.DataText()}
	st.Know(h.opts.Config())
	out, err := h.opts.System.CreateSchedule(ctx, st, sender(ctx))
	return reply(out), err
}

func (h schedules) change(ctx context.Context, in *system.ChangeScheduleIn) (*body[system.Schedule], error) {
	var err error
	if in.Project, err = accessOf(ctx).owner(in.Project); err != nil {
		return nil, err
	}
	out, err := h.opts.System.ChangeSchedule(ctx, *in, sender(ctx))
	return reply(out), err
}

func (h schedules) delete(ctx context.Context, in *system.ScheduleIn) (*body[system.Named], error) {
	var err error
	if in.Project, err = accessOf(ctx).owner(in.Project); err != nil {
		return nil, err
	}
	return reply(system.Named{ID: in.Name}), h.opts.System.DeleteSchedule(ctx, *in, sender(ctx))
}
