package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"

	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/workflows"
)

const (
	dialTimeout  = 5 * time.Second
	callTimeout  = 10 * time.Second
	queryTimeout = 3 * time.Second // an investigation answers at once, if there is a worker
)

// dial connects to Temporal. The caller closes the client.
func (c *cli) dial(ctx context.Context) (client.Client, error) {
	opts, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{ConfigFileProfile: c.profile})
	if err != nil {
		return nil, usagef("Temporal client configuration: %w", err)
	}
	if c.address != "" {
		opts.HostPort = c.address
	}
	if c.namespace != "" {
		opts.Namespace = c.namespace
	}
	if opts.HostPort == "" {
		opts.HostPort = client.DefaultHostPort
	}
	opts.Logger = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	if c.keys, err = payload.LoadKeys(c.getenv); err != nil {
		return nil, usagef("%w", err)
	}
	c.keys.Protect(&opts)
	opts.ExternalStorage = payload.Reading(offloaded{c})
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := client.DialContext(dialing, opts)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("Temporal at %s does not answer: %w\n"+
			"Start one with `go run ./dev`, or say where yours is with --address or TEMPORAL_ADDRESS.", opts.HostPort, err)
	}
	return conn, nil
}

// target is an investigation as Temporal knows it.
type target struct {
	client   client.Client
	workflow string // its id
	first    string // id of its first run
	current  string // id of the run that Temporal has described
	status   enumspb.WorkflowExecutionStatus
}

// find asks Temporal for an investigation by its id or its workflow's.
func find(ctx context.Context, conn client.Client, id string) (target, error) {
	return findOne(ctx, conn, id, investigationType)
}

// findOne is find for workflows of other types, too.
func findOne(ctx context.Context, conn client.Client, id string, types ...string) (target, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found, err := describe(ctx, conn, id, types...)
	workflowID, isID := workflowOf(id)
	if !errors.Is(err, record.ErrNotFound) || !isID {
		return targetOf(conn, found), err
	}
	found, err = describe(ctx, conn, workflowID, types...)
	t := targetOf(conn, found)
	if err == nil && t.id() != id {
		return t, fmt.Errorf("%s: %w in Temporal: that workflow id has been used again, by %s", id, record.ErrNotFound, t.id())
	}
	return t, err
}

// describe asks Temporal for the last workflow that has an id; it must be of one of the types.
func describe(ctx context.Context, conn client.Client, workflowID string, types ...string) (*workflowpb.WorkflowExecutionInfo, error) {
	found, err := conn.DescribeWorkflowExecution(ctx, workflowID, "")
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return nil, fmt.Errorf("%s %s: %w in Temporal", strings.ToLower(types[0]), workflowID, record.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("ask Temporal for %s: %w", workflowID, err)
	}
	info := found.GetWorkflowExecutionInfo()
	if name := info.GetType().GetName(); !slices.Contains(types, name) {
		return nil, usagef("%s is a workflow of type %s, not %s", workflowID, name, anyOf(types))
	}
	return info, nil
}

// anyOf names types of workflows for people.
func anyOf(types []string) string {
	words := strings.ToLower(strings.Join(types, " or a "))
	return strings.Replace("a "+words, "a i", "an i", 1)
}

// investigationType is the workflow type of investigations.
const investigationType = workflows.TypeInvestigation

func targetOf(conn client.Client, info *workflowpb.WorkflowExecutionInfo) target {
	t := target{
		client: conn, workflow: info.GetExecution().GetWorkflowId(), first: info.GetFirstRunId(),
		current: info.GetExecution().GetRunId(), status: info.GetStatus(),
	}
	if t.first == "" { // older servers do not say
		t.first = t.current
	}
	return t
}

// workflowOf takes the workflow id out of an investigation id.
func workflowOf(id string) (workflowID string, ok bool) {
	i := strings.LastIndexByte(id, ':')
	return id[:max(i, 0)], i > 0 && len(id)-i-1 == investigationTail
}

// investigationTail is the length of what tells investigations of one workflow id apart.
const investigationTail = 12

func (t target) id() string { return workflows.InvestigationID(t.workflow, t.first) }

func (t target) running() bool { return t.status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING }

// query asks the investigation itself, which needs a worker.
func (t target) query(ctx context.Context, name string, out any) error {
	return query(ctx, t.client, t.workflow, t.current, name, out)
}

func query(ctx context.Context, conn client.Client, workflowID, runID, name string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	value, err := conn.QueryWorkflow(ctx, workflowID, runID, name)
	if err != nil {
		return fmt.Errorf("query %s of %s: %w", name, workflowID, err)
	}
	return value.Get(out)
}
