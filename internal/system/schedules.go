package system

import (
	"context"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
)

// Scheduler manages the schedules that start investigations.
type Scheduler interface {
	// Schedules returns the schedules of some projects, by project and name. Nil means all projects.
	Schedules(ctx context.Context, projects []string) ([]Schedule, error)
	// CreateSchedule creates the schedule that the request of s has.
	CreateSchedule(ctx context.Context, s Start, by agent.Identity) (Schedule, error)
	ChangeSchedule(ctx context.Context, in ChangeScheduleIn, by agent.Identity) (Schedule, error)
	// DeleteSchedule deletes a schedule. Its investigations stay.
	DeleteSchedule(ctx context.Context, in ScheduleIn, by agent.Identity) error
}

// Schedule is a schedule and what came of it.
type Schedule struct {
	agent.Schedule
	Project   string     `json:"project"`
	Chain     string     `json:"chain,omitempty"`
	AlertType string     `json:"alert_type,omitempty"`
	By        string     `json:"by,omitempty" doc:"who created it; its investigations run on their behalf"`
	Created   time.Time  `json:"created"`
	Paused    bool       `json:"paused,omitempty"`
	Note      string     `json:"note,omitempty" doc:"who paused or resumed it"`
	Next      *time.Time `json:"next,omitempty" doc:"when the next investigation starts"`
	Running   string     `json:"running,omitempty" doc:"workflow ID of the investigation that is running"`
	Missed    int        `json:"missed,omitempty" doc:"starts that were missed, because Temporal was away for more than an hour"`
	Skipped   int        `json:"skipped,omitempty" doc:"starts that were skipped, because an investigation was running"`
	Problem   string     `json:"problem,omitempty" doc:"why the rest could not be read"`
	CostUSD   float64    `json:"cost_usd_24h" doc:"cost of the investigations that started in the last 24 hours"`
	// Last is the newest investigation, and LastCheck the newest one that ended with a verdict.
	Last      *record.ScheduleRun `json:"last,omitempty" doc:"the newest investigation"`
	LastCheck *record.ScheduleRun `json:"last_check,omitempty" doc:"the newest investigation that ended with a verdict"`
}

// ScheduleIn is the path of a schedule.
type ScheduleIn struct {
	ProjectIn
	Name string `path:"name" maxLength:"63"`
}

// SchedulesIn selects schedules.
type SchedulesIn struct {
	Project string `query:"project" doc:"only this project; absent means every project that your token can read"`
}

// CreateScheduleIn creates a schedule.
type CreateScheduleIn struct {
	Body ScheduleBody
}

// ScheduleBody is a schedule and the request that it repeats.
type ScheduleBody struct {
	StartBody
	Schedule agent.Schedule `json:"schedule"`
}

// ScheduleAction is what people do with a schedule.
type ScheduleAction string

// The actions. A run starts at once, whether or not the schedule is paused.
const (
	SchedulePause  ScheduleAction = "pause"
	ScheduleResume ScheduleAction = "resume"
	ScheduleRunNow ScheduleAction = "run"
)

// ScheduleActions returns the actions.
func ScheduleActions() []ScheduleAction {
	return []ScheduleAction{SchedulePause, ScheduleResume, ScheduleRunNow}
}

// ChangeScheduleIn is an action on a schedule.
type ChangeScheduleIn struct {
	ScheduleIn
	Body struct {
		Action ScheduleAction `json:"action" enum:"pause,resume,run"`
		Reason string         `json:"reason,omitempty" maxLength:"500"`
	}
}
