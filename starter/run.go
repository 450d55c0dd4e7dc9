package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
)

// runFlags are those of the command run.
type runFlags struct {
	chain, alertType, data, provider, runbook, workflowID, by string
	mock, json, detach, verbose, allowEmpty, attach           bool
}

func runCommand(c *cli) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Start an investigation and show it live",
		Example: `  starter run --alert-type sample-incident --data @alert.json
  kubectl describe pod web-1 | starter run --chain kubernetes --data -
  starter run --chain triage --data "checkout is slow" --json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return start(cmd.Context(), c, f) },
	}
	set := cmd.Flags()
	set.StringVar(&f.chain, "chain", "", "chain to run")
	set.StringVar(&f.alertType, "alert-type", "", "alert type, which says which chain runs")
	set.StringVar(&f.data, "data", "", "what to investigate: a text, @file, or - for standard input")
	set.BoolVar(&f.allowEmpty, "allow-empty", false, "start without data, for a chain that needs none")
	set.BoolVar(&f.attach, "attach", false,
		"take data that is larger than system.limits.data: agents are shown its beginning and read the rest in pages")
	set.StringVar(&f.provider, "provider", "", `model for every agent: an llm_providers entry or "provider:model"`)
	set.StringVar(&f.runbook, "runbook", "", "instead of the chain's runbook: a text or @file")
	set.BoolVar(&f.mock, "mock", false, "let the mocks that the configuration names work in their agents' place")
	set.StringVar(&f.workflowID, "workflow-id", "", "workflow id (default: the chain or alert type and 8 random characters)")
	set.StringVar(&f.by, "by", userName(), "who asks")
	set.BoolVar(&f.json, "json", false, "print nothing but the result, as JSON, when it has ended")
	set.BoolVar(&f.detach, "detach", false, "print the workflow id and do not wait")
	set.BoolVar(&f.verbose, "verbose", false, "show prompts, tool calls and results whole")
	return cmd
}

// start starts an investigation and follows it, unless it is told not to.
func start(ctx context.Context, c *cli, f runFlags) error {
	s, err := request(c, f)
	if err != nil {
		return err
	}
	if s.Request.Chain == "" && s.Request.AlertType == "" {
		return usagef("--chain or --alert-type is needed")
	}
	h, err := c.client().Start(ctx, s)
	if err != nil {
		return notStarted(err)
	}
	switch {
	case f.detach && f.json:
		return c.printJSON(map[string]string{"workflow_id": h.Workflow, "run_id": h.First, "id": h.ID()})
	case f.detach:
		_, err := fmt.Fprintln(c.out, h.Workflow)
		return err
	case f.json:
		out, err := await(ctx, c, h)
		if err == nil {
			err = c.whole(ctx, "report", &out.Report, out.ReportRef)
		}
		if err != nil {
			return err
		}
		return errors.Join(c.printJSON(out), verdict(out.ID, out.Status, out.Error))
	}
	c.say("investigation %s", h.ID())
	return follow(ctx, c, h, f.verbose)
}

// request is the request that the flags describe.
func request(c *cli, f runFlags) (s client.Start, err error) {
	s.Workflow = f.workflowID
	s.Request = agent.Request{
		Chain: f.chain, AlertType: f.alertType, Provider: f.provider, UseMock: f.mock, AllowEmpty: f.allowEmpty, Attach: f.attach, By: f.by,
	}
	if s.Request.Runbook, err = c.text("--runbook", f.runbook); err != nil {
		return s, err
	}
	if s.Data, err = c.text("--data", f.data); err != nil {
		return s, err
	}
	cfg, err := c.loadConfig(c.getenv("INQUEST_CONFIG"))
	if err == nil {
		s.Masking, s.MaxData = cfg.AlertMasking(), cfg.MaxData()
	}
	return s, err
}

// notStarted says what to write instead.
func notStarted(err error) error {
	if wrong, ok := errors.AsType[*client.InputError](err); ok {
		return usagef("%s", strings.NewReplacer(`"chain"`, "--chain", `"alert_type"`, "--alert-type", `"provider"`, "--provider",
			`"data"`, "--data", `"allow_empty": true`, "--allow-empty", `"attach": true`, "--attach").Replace(wrong.Error()))
	}
	if taken, ok := errors.AsType[*client.TakenError](err); ok {
		return fmt.Errorf("%w: watch it with `starter watch %s`, or give another --workflow-id", err, taken.Workflow)
	}
	return err
}
