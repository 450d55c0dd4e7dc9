package start

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// NewSchedule returns the commands of schedule.
func NewSchedule(c *base.CLI) *cobra.Command {
	group := base.Group("schedule", "Start investigations and checks again and again",
		scheduleCreateCommand(c), scheduleListCommand(c),
		scheduleActionCommand(c, system.SchedulePause, "Pause schedules; a running investigation continues"),
		scheduleActionCommand(c, system.ScheduleResume, "Resume paused schedules"),
		scheduleActionCommand(c, system.ScheduleRunNow, "Start an investigation of schedules now"),
		scheduleDeleteCommand(c),
	)
	group.Long = `Start investigations of the same request again and again, with a Temporal Schedule. While one
is running, no other one starts. After an outage of up to an hour, one starts late.

With --check, each investigation ends with a verdict: ok, problem or unknown. People are told
only about the first verdict and about each change of the verdict or of the set of problems, and
only such investigations need a review. A check is ok only if the investigation is complete.

"starter list --session schedule/NAME" lists the investigations of a schedule.`
	return group
}

// scheduleFlags are what the commands about existing schedules share.
type scheduleFlags struct{ project, by, reason string }

func (f *scheduleFlags) add(c *base.CLI, cmd *cobra.Command) *cobra.Command {
	set := cmd.Flags()
	set.StringVar(&f.project, "project", "", "project of the schedule (default: "+agent.DefaultProject+")")
	set.StringVar(&f.by, "by", base.UserName(), "name recorded with the change")
	set.BoolVar(&c.JSON, "json", false, "print as JSON")
	return cmd
}

func (f *scheduleFlags) who() agent.Identity {
	return base.Person(f.by)
}

func (f *scheduleFlags) path(name string) system.ScheduleIn {
	return system.ScheduleIn{ProjectIn: system.ProjectIn{Project: f.project}, Name: name}
}

func scheduleCreateCommand(c *base.CLI) *cobra.Command {
	var s system.Start
	var asked requestFlags
	var schedule agent.Schedule
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a schedule",
		Example: `  starter schedule create checkout --chain shop --every 15m --check --data @q.md
  starter schedule create weekly --chain capacity --cron "0 8 * * MON" --data -`,
		Args: base.Exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := asked.read(&s.Request); err != nil {
				return err
			}
			if s.Request.Chain == "" && s.Request.AlertType == "" {
				return base.Usagef("set --chain or --alert-type: run `starter chain list` to see the chains and their alert types")
			}
			schedule.Name, s.Request.Schedule = args[0], &schedule
			if err := complement(c, &s); err != nil {
				return err
			}
			if err := known(c, &s); err != nil {
				return err
			}
			by := base.Person(s.Request.By)
			out, err := c.Client().CreateSchedule(cmd.Context(), s, by)
			if err != nil {
				return scheduleError(args[0], err)
			}
			return printSchedules(c, out)
		},
	}
	set := cmd.Flags()
	asked.target(cmd, &s)
	asked.common(c, cmd, &s)
	set.StringVar(&schedule.Every, "every", "", "time between the starts, such as 15m or 24h; at least 1m")
	set.StringArrayVar(&schedule.Cron, "cron", nil,
		`times of the starts: minute hour day month weekday, such as "0 8 * * MON-FRI"; may be repeated`)
	set.StringVar(&schedule.Timezone, "timezone", "", "time zone of --cron, such as Europe/Berlin (default: system.timezone)")
	set.BoolVar(&schedule.Check, "check", false, "end with a verdict, and tell people only about changes")
	set.Float64Var(&schedule.MaxCostPerDay, "max-cost-per-day", 0,
		"most US dollars that its investigations may cost in 24 hours (default: no limit)")
	set.BoolVar(&c.JSON, "json", false, "print as JSON")
	return cmd
}

// known completes and checks a request with the configuration, if there is one here; the API does so itself. Nobody waits for the
// investigations of a schedule, who would see that workers refuse them.
func known(c *base.CLI, s *system.Start) error {
	if c.Remote() || c.Config == "" {
		return nil
	}
	cfg, err := c.LoadConfig()
	if err != nil {
		return err
	}
	s.Request.Schedule.Timezone = cmp.Or(s.Request.Schedule.Timezone, cfg.System.Timezone)
	if len(cfg.VirtualOf(cfg.ChainOf(s.Request))) > 0 { // only workers have agents that were made at run time
		return nil
	}
	if _, err := cfg.Plan(s.Request); err != nil {
		return base.Usagef("%w", err)
	}
	return nil
}

func scheduleListCommand(c *base.CLI) *cobra.Command {
	var projects []string
	cmd := &cobra.Command{
		Use: "list", Short: "List schedules with their last verdicts", Args: base.Exactly(),
		Example: "  starter schedule list --project payments",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := c.Client().Schedules(cmd.Context(), projects)
			if err != nil {
				return base.NeedsStore(err)
			}
			return printSchedules(c, append([]system.Schedule{}, all...)...)
		},
	}
	cmd.Flags().StringSliceVar(&projects, "project", nil, "only schedules of these projects")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print as JSON")
	return cmd
}

// onSchedules returns a command that does something with each named schedule.
func onSchedules(c *base.CLI, use, short string, f *scheduleFlags, do func(cmd *cobra.Command, name string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use + " NAME...", Short: short,
		Example: fmt.Sprintf("  starter schedule %s checkout", use),
		Args:    base.AtLeastOne("NAME"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			for _, name := range args {
				if failed := do(cmd, name); failed != nil {
					err = errors.Join(err, scheduleError(name, failed))
				}
			}
			return err
		},
	}
	return f.add(c, cmd)
}

func scheduleActionCommand(c *base.CLI, action system.ScheduleAction, short string) *cobra.Command {
	var f scheduleFlags
	cmd := onSchedules(c, string(action), short, &f, func(cmd *cobra.Command, name string) error {
		in := system.ChangeScheduleIn{ScheduleIn: f.path(name)}
		in.Body.Action, in.Body.Reason = action, f.reason
		out, err := c.Client().ChangeSchedule(cmd.Context(), in, f.who())
		switch {
		case err != nil:
			return err
		case c.JSON:
			return c.PrintJSON(out)
		}
		return c.Print(terminal.CleanLine(fmt.Sprintf("%s: %s", out.Name, nextCell(out))))
	})
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for the list of schedules and the audit trail")
	return cmd
}

func scheduleDeleteCommand(c *base.CLI) *cobra.Command {
	var f scheduleFlags
	return onSchedules(c, "delete", "Delete schedules; their investigations are kept", &f, func(cmd *cobra.Command, name string) error {
		err := c.Client().DeleteSchedule(cmd.Context(), f.path(name), f.who())
		switch {
		case err != nil:
			return err
		case c.JSON:
			return c.PrintJSON(system.Named{ID: name})
		}
		return c.Print(name + ": deleted")
	})
}

// scheduleError explains an error of a command about a schedule.
func scheduleError(name string, err error) error {
	if errors.Is(err, record.ErrNotFound) {
		return base.Usagef("no schedule %s in this project: run `starter schedule list` to see all", terminal.CleanLine(name))
	}
	return base.NeedsStore(notStarted(err))
}

func printSchedules(c *base.CLI, all ...system.Schedule) error {
	if c.JSON {
		return c.PrintJSON(all)
	}
	return base.PrintTable(c, "NAME\tPROJECT\tWHEN\tNEXT\tVERDICT\tCOST\tABOUT", all, func(s system.Schedule) []any {
		cost := fmt.Sprintf("$%.2f", s.CostUSD)
		if s.MaxCostPerDay > 0 {
			cost += fmt.Sprintf(" of $%.2f", s.MaxCostPerDay)
		}
		verdict, about := "-", "no investigation yet"
		if s.Last != nil {
			about = fmt.Sprintf("last: %s, %s", s.Last.ID, s.Last.Status)
		}
		if s.LastCheck != nil {
			found := s.LastCheck.Check
			verdict = fmt.Sprintf("%s, %s ago", found.Verdict, record.Age(time.Since(*s.LastCheck.EndedAt)))
			about = cmp.Or(strings.Join(found.Names(), "; "), found.Error, about)
		}
		about = cmp.Or(s.Problem, about)
		return []any{s.Name, s.Project, whenCell(s), nextCell(s), verdict, cost, about}
	})
}

// whenCell describes when a schedule starts investigations.
func whenCell(s system.Schedule) string {
	if s.Every != "" {
		return "every " + s.Every
	}
	return strings.Join(s.Cron, ", ") + " " + cmp.Or(s.Timezone, "UTC")
}

// nextCell describes when the next investigation starts.
func nextCell(s system.Schedule) string {
	switch {
	case s.Running != "":
		return "running"
	case s.Paused:
		return cmp.Or(s.Note, "paused")
	case s.Next == nil:
		return "never"
	}
	return s.Next.Local().Format(base.DateTime)
}
