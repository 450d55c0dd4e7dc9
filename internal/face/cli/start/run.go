// Package start has the commands that start work: run, rerun, agent run and chat.
package start

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/look"
	"github.com/inquest-dev/inquest/internal/system"
)

// NewRun returns the command run.
func NewRun(c *base.CLI) *cobra.Command {
	var s system.Start
	var l look.Look
	var asked requestFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Start an investigation and show it live",
		Example: `  starter run --alert-type sample-incident --data @alert.json
  kubectl describe pod web-1 | starter run --chain kubernetes --data -
  starter run --chain triage --data "checkout is slow" --json
  starter run --chain triage --data - --mcp loki=query --budget max_cost_usd=0.5`,
		Args: base.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := asked.read(&s.Request); err != nil {
				return err
			}
			return start(cmd.Context(), c, s, asked.detach, l)
		},
	}
	set := cmd.Flags()
	asked.target(cmd, &s)
	set.BoolVar(&s.Request.Attach, "attach", false,
		"accept data larger than system.limits.data: agents get the first part and read the rest in pages")
	asked.flags(c, cmd, &s)
	set.StringVar(&s.Request.Fingerprint, "fingerprint", "",
		"identifies duplicate requests: if an investigation already has this fingerprint, it is shown instead (default: from the chain's dedup)")
	set.BoolVar(&s.Request.Again, "again", false, "start a new investigation even if one with the same fingerprint exists")
	l.Flags(c, cmd)
	return cmd
}

// start starts an investigation and follows it unless detach is set.
func start(ctx context.Context, c *base.CLI, s system.Start, detach bool, l look.Look) error {
	if err := complement(c, &s); err != nil {
		return err
	}
	if s.Request.Chain == "" && s.Request.AlertType == "" {
		return base.Usagef("set --chain or --alert-type: run `starter chain list` to see the chains and their alert types")
	}
	return launch(ctx, c, s, detach, l)
}

// launch starts an investigation whose request is complete.
func launch(ctx context.Context, c *base.CLI, s system.Start, detach bool, l look.Look) error {
	h, err := c.Client().Start(ctx, s)
	if err != nil {
		return notStarted(err)
	}
	if h.Known {
		c.Say("%s has the same fingerprint and is shown instead (use --again to start a new one)", h.ID())
	}
	switch {
	case detach && c.JSON:
		ids := map[string]any{"workflow_id": h.Workflow, "id": h.ID()}
		if !c.Remote() { // the API does not return the run ID
			ids["run_id"] = h.First
		}
		if h.Known {
			ids["known"] = true
		}
		return c.PrintJSON(ids)
	case detach:
		_, err := fmt.Fprintln(c.Out, h.Workflow)
		return err
	}
	if h.Known {
		return look.Watch(ctx, c, h.ID(), l)
	}
	if !c.JSON {
		c.Say("investigation %s", h.ID())
	}
	return look.Follow(ctx, c, h, l)
}

// complement reads the files that flags refer to, and the configuration's rules for data.
func complement(c *base.CLI, s *system.Start) (err error) {
	if s.Request.Runbook, err = c.Text("--runbook", s.Request.Runbook); err != nil {
		return err
	}
	if s.Data, err = c.Text("--data", s.Data); err != nil {
		return err
	}
	if c.Remote() { // the API has its own configuration
		return nil
	}
	cfg, err := c.LoadConfig()
	if err == nil {
		s.Know(cfg)
	}
	return err
}

// notStarted translates errors about request fields into errors about flags.
func notStarted(err error) error {
	if wrong, ok := errors.AsType[*system.InputError](err); ok {
		return base.Usagef("%s", strings.NewReplacer(`"chain"`, "--chain", `"alert_type"`, "--alert-type", `"provider"`, "--provider",
			`"data"`, "--data", `"allow_empty": true`, "--allow-empty", `"attach": true`, "--attach",
			`"again": true`, "--again", `"fingerprint"`, "--fingerprint", `"priority"`, "--priority", `"tenant"`, "--tenant",
			`"results"`, "--result", `"leave_out"`, "--leave-out", `"prompts"`, "--prompt", `"guide"`, "--guide",
			`"session"`, "--session", `"metadata"`, "--meta", `"budgets"`, "--budget").Replace(wrong.Error()))
	}
	if taken, ok := errors.AsType[*system.TakenError](err); ok {
		return fmt.Errorf("%w: run `starter watch %s` to watch it, or set another --workflow-id", err, command.ShellWord(taken.Workflow))
	}
	return err
}
