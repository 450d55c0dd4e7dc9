package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/workflows"
)

// runFlags are those of the command run.
type runFlags struct {
	chain, alertType, data, provider, runbook, workflowID, by string
	mock, json, detach, verbose, allowEmpty, attach           bool
}

func (c *cli) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Start an investigation and show it live",
		Example: `  starter run --alert-type sample-incident --data @alert.json
  kubectl describe pod web-1 | starter run --chain kubernetes --data -
  starter run --chain triage --data "checkout is slow" --json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.start(cmd.Context(), f) },
	}
	set := cmd.Flags()
	set.StringVar(&f.chain, "chain", "", "chain to run")
	set.StringVar(&f.alertType, "alert-type", "", "alert type, which says which chain runs")
	set.StringVar(&f.data, "data", "", "what to investigate: a text, @file, or - for standard input")
	set.BoolVar(&f.allowEmpty, "allow-empty", false, "start without data, for a chain that needs none")
	set.BoolVar(&f.attach, "attach", false, "take data that is larger than system.limits.data: agents are shown its beginning and read the rest in pages")
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
func (c *cli) start(ctx context.Context, f runFlags) error {
	req, err := c.request(ctx, f)
	if err != nil {
		return err
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	t, err := c.execute(ctx, conn, f.workflowID, req)
	if err != nil {
		return err
	}
	if f.detach {
		return c.printStarted(t, f.json)
	}
	if f.json {
		return c.awaitJSON(ctx, t)
	}
	c.say("investigation %s", t.id())
	return c.follow(ctx, t, f.verbose)
}

// execute starts the workflow; an id that is in use is an error.
func (c *cli) execute(ctx context.Context, conn client.Client, id string, req agent.Request) (target, error) {
	if id == "" {
		id = newID(req)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	run, err := conn.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                                       id,
		TaskQueue:                                c.taskQueue,
		WorkflowTaskTimeout:                      workflows.WorkflowTaskTimeout,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            summary(req),
	}, investigationType, req)
	if _, taken := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); taken {
		return target{}, fmt.Errorf("an investigation with the workflow id %s is running: watch it with `starter watch %[1]s`, or give another --workflow-id", id)
	}
	if err != nil {
		return target{}, fmt.Errorf("start investigation %s: %w", id, err)
	}
	return target{
		client: conn, workflow: run.GetID(), first: run.GetRunID(), current: run.GetRunID(),
		status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}, nil
}

// newID is a workflow id that people can read: the chain's or alert type's name and a random part.
func newID(req agent.Request) string {
	name := req.Chain
	if name == "" {
		name = req.AlertType
	}
	return randomID(name)
}

// randomID is a name and 8 random characters.
func randomID(name string) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return strings.Map(idRune, name) + "-" + hex.EncodeToString(random[:])
}

// idRune keeps what needs no quoting in shells and addresses.
func idRune(r rune) rune {
	if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' || r == '.' {
		return r
	}
	return '-'
}

// summary is what Temporal's UI shows of the investigation in its list.
func summary(req agent.Request) string {
	var words []string
	for _, word := range []string{req.Chain, req.AlertType} {
		if word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, " · ")
}

func (c *cli) printStarted(t target, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprintln(c.out, t.workflow)
		return err
	}
	return c.printJSON(map[string]string{"workflow_id": t.workflow, "run_id": t.first, "id": t.id()})
}

// printJSON prints v, indented, without spelling out <, > and &.
func (c *cli) printJSON(v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(c.out, reveal.Unseen(text.String())) // as JSON escapes: the same document
	return err
}
