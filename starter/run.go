package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
)

func runCommand(c *cli) *cobra.Command {
	var s client.Start
	var l look
	var asked requestFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Start an investigation and show it live",
		Example: `  starter run --alert-type sample-incident --data @alert.json
  kubectl describe pod web-1 | starter run --chain kubernetes --data -
  starter run --chain triage --data "checkout is slow" --json
  starter run --chain triage --data - --mcp loki=query --budget max_cost_usd=0.5`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := asked.read(&s.Request); err != nil {
				return err
			}
			return start(cmd.Context(), c, s, asked.detach, l)
		},
	}
	set := cmd.Flags()
	set.StringVar(&s.Request.Chain, "chain", "", "chain to run")
	set.StringVar(&s.Request.AlertType, "alert-type", "", "alert type, which says which chain runs")
	set.StringVar(&s.Data, "data", "", "what to investigate: a text, @file, or - for standard input")
	set.BoolVar(&s.Request.AllowEmpty, "allow-empty", false, "start without data, for a chain that needs none")
	set.BoolVar(&s.Request.Attach, "attach", false,
		"take data that is larger than system.limits.data: agents are shown its beginning and read the rest in pages")
	set.BoolVar(&s.Request.UseMock, "mock", false, "let the mocks that the configuration names work in their agents' place")
	asked.flags(c, cmd, &s)
	set.StringVar(&s.Request.Fingerprint, "fingerprint", "",
		"the same for all requests that ask for the same: the investigation that there is is shown (default: what the chain's dedup says)")
	set.BoolVar(&s.Request.Again, "again", false, "investigate, though the same is or was investigated")
	l.flags(c, cmd)
	return cmd
}

// start starts an investigation and follows it unless detach is set.
func start(ctx context.Context, c *cli, s client.Start, detach bool, l look) error {
	if err := complement(c, &s); err != nil {
		return err
	}
	if s.Request.Chain == "" && s.Request.AlertType == "" {
		return usagef("set --chain or --alert-type: starter chain list shows both")
	}
	return launch(ctx, c, s, detach, l)
}

// launch starts an investigation whose request is complete.
func launch(ctx context.Context, c *cli, s client.Start, detach bool, l look) error {
	h, err := c.client().Start(ctx, s)
	if err != nil {
		return notStarted(err)
	}
	if h.Known {
		c.say("the same is or was investigated by %s, which is shown here (--again makes another one)", h.ID())
	}
	switch {
	case detach && c.json:
		ids := map[string]any{"workflow_id": h.Workflow, "id": h.ID()}
		if !c.remote() { // the API does not return the run ID
			ids["run_id"] = h.First
		}
		if h.Known {
			ids["known"] = true
		}
		return c.printJSON(ids)
	case detach:
		_, err := fmt.Fprintln(c.out, h.Workflow)
		return err
	}
	if h.Known {
		return watch(ctx, c, h.ID(), l)
	}
	if !c.json {
		c.say("investigation %s", h.ID())
	}
	return follow(ctx, c, h, l)
}

// complement reads the files that flags refer to, and the configuration's rules for data.
func complement(c *cli, s *client.Start) (err error) {
	if s.Request.Runbook, err = c.text("--runbook", s.Request.Runbook); err != nil {
		return err
	}
	if s.Data, err = c.text("--data", s.Data); err != nil {
		return err
	}
	if c.remote() { // the API has its own configuration
		return nil
	}
	cfg, err := c.loadConfig()
	if err == nil {
		s.Know(cfg)
	}
	return err
}

// notStarted translates errors about request fields into errors about flags.
func notStarted(err error) error {
	if wrong, ok := errors.AsType[*client.InputError](err); ok {
		return usagef("%s", strings.NewReplacer(`"chain"`, "--chain", `"alert_type"`, "--alert-type", `"provider"`, "--provider",
			`"data"`, "--data", `"allow_empty": true`, "--allow-empty", `"attach": true`, "--attach",
			`"again": true`, "--again", `"fingerprint"`, "--fingerprint", `"priority"`, "--priority", `"tenant"`, "--tenant",
			`"session"`, "--session", `"metadata"`, "--meta", `"budgets"`, "--budget").Replace(wrong.Error()))
	}
	if taken, ok := errors.AsType[*client.TakenError](err); ok {
		return fmt.Errorf("%w: watch it with `starter watch %s`, or give another --workflow-id", err, command.ShellWord(taken.Workflow))
	}
	return err
}
