package remote

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/system"
)

// Schedules lists the schedules of a project, or of all projects that the token can read.
func (s *scheduler) Schedules(ctx context.Context, projects []string) ([]system.Schedule, error) {
	if len(projects) > 1 {
		return nil, errProjects
	}
	out, err := do(ctx, s, system.ListSchedules, system.SchedulesIn{Project: strings.Join(projects, "")})
	return out.Items, err
}

// CreateSchedule creates a schedule. The API takes the author from the token, here and in the other changes.
func (s *scheduler) CreateSchedule(ctx context.Context, start system.Start, _ agent.Identity) (system.Schedule, error) {
	b := system.ScheduleBody{StartBody: bodyOf(start), Schedule: *start.Request.Schedule}
	return do(ctx, s, system.CreateSchedule, system.CreateScheduleIn{Body: b})
}

// ChangeSchedule carries out an action on a schedule.
func (s *scheduler) ChangeSchedule(ctx context.Context, in system.ChangeScheduleIn, _ agent.Identity) (system.Schedule, error) {
	return do(ctx, s, system.ChangeSchedule, in)
}

// DeleteSchedule deletes a schedule.
func (s *scheduler) DeleteSchedule(ctx context.Context, in system.ScheduleIn, _ agent.Identity) error {
	_, err := do(ctx, s, system.DeleteSchedule, in)
	return err
}

// bodyOf returns a request in the form of the API.
func bodyOf(s system.Start) system.StartBody {
	q := s.Request
	b := system.StartBody{
		Project: q.Project, Chain: q.Chain, AlertType: q.AlertType, AllowEmpty: q.AllowEmpty, Attach: q.Attach, Provider: q.Provider,
		Runbook: q.Runbook, UseMock: q.UseMock, MCP: q.MCP, Budgets: q.Budgets, Tenant: q.Tenant, Session: q.Session,
		Priority: q.Priority, Fingerprint: q.Fingerprint, Metadata: q.Metadata, Again: q.Again, Trial: q.Trial, Fork: q.Fork,
	}
	if s.Data != "" {
		b.Data, _ = json.Marshal(s.Data) // text always encodes
	}
	return b
}
