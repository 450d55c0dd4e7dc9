package client

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	sdk "go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/mask"
	"github.com/inquest-dev/inquest/workflows"
)

const (
	// unnamed is the name of an investigation whose chain is chosen by the configuration.
	unnamed = "investigation"
	// maxEasy is the most data to send through Temporal, in bytes, if there is a store for larger data.
	maxEasy = 256 << 10
	// maxRequest is the maximum size of a request, in bytes. Temporal refuses 2 MB.
	maxRequest = 2<<20 - 16<<10
)

// memoOnce is the memo that keeps Start.Once.
const memoOnce = "inquest_once"

// Start starts an investigation. It masks the data and, if the data is large and a store is available, puts it into the store and
// refers to it in the request. If the request has a fingerprint and an investigation with the same fingerprint exists, Start
// returns that one; see Handle.Known.
func (c *Client) Start(ctx context.Context, s system.Start) (system.Handle, error) {
	if _, ok := workflows.WorkflowOf(s.Workflow); ok { // commands would take it for an investigation ID
		err := fmt.Errorf("the workflow ID %s looks like the ID of an investigation: use another one", s.Workflow)
		return system.Handle{}, &system.InputError{Err: err}
	}
	prepare := c.putData
	if s.Request.Fork != nil {
		prepare = c.prepareFork
	}
	if err := prepare(ctx, &s); err != nil {
		return system.Handle{}, err
	}
	h, err := c.start(ctx, s)
	return h.Handle, err
}

// start starts an investigation whose data is in the request already.
func (c *Client) start(ctx context.Context, s system.Start) (handle, error) {
	conn, err := c.temporal(ctx)
	if err != nil {
		return handle{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	options := sdk.StartWorkflowOptions{
		ID:                                       cmp.Or(s.Workflow, system.RandomID(cmp.Or(s.Request.Chain, s.Request.AlertType, unnamed))),
		TaskQueue:                                c.opts.TaskQueue,
		WorkflowTaskTimeout:                      workflows.WorkflowTaskTimeout,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            summary(s.Request),
		Priority:                                 workflows.Priority(s.Request.Labels),
	}
	if s.Request.Project != "" {
		options.Memo = map[string]any{memoProject: s.Request.Project}
	}
	switch {
	case s.Request.Fingerprint != "":
		return startOne(ctx, conn, s, options)
	case s.Once != "":
		return c.startOnce(ctx, conn, s, options)
	}
	return execute(ctx, conn, s, options)
}

// startOnce starts an investigation unless it was started before.
func (c *Client) startOnce(ctx context.Context, conn sdk.Client, s system.Start, options sdk.StartWorkflowOptions) (handle, error) {
	options.WorkflowIDReusePolicy = enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	if options.Memo == nil {
		options.Memo = map[string]any{}
	}
	options.Memo[memoOnce] = s.Once
	h, there, err := executeOrFind(ctx, conn, s, options)
	switch {
	case err != nil || there == nil:
		return h, err
	case c.memo(there, memoOnce) != s.Once:
		return handle{}, system.ErrReused
	}
	h.Known = true
	return h, nil
}

// execute starts a workflow, or returns a TakenError if its ID is in use.
func execute(ctx context.Context, conn sdk.Client, s system.Start, options sdk.StartWorkflowOptions) (handle, error) {
	run, err := conn.ExecuteWorkflow(ctx, options, workflows.TypeInvestigation, s.Request)
	if _, taken := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); taken {
		return handle{}, &system.TakenError{Workflow: options.ID}
	}
	if err != nil {
		return handle{}, notStarted(options.ID, err)
	}
	return handle{
		Handle: system.Handle{Workflow: run.GetID(), First: run.GetRunID(), Open: true},
		conn:   conn, current: run.GetRunID(), status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}, nil
}

// notStarted explains that Temporal has not confirmed a start. The SDK retries temporary errors until the timeout, so the error alone
// does not show the reason.
func notStarted(workflowID string, err error) error {
	_, late := errors.AsType[*serviceerror.DeadlineExceeded](err)
	if late || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("start investigation %s: Temporal is reachable but did not confirm the start within %s. Its database may be "+
			"full or unavailable: check Temporal's logs and disk. Run \"starter status %s\" to see whether it started (%w)",
			workflowID, callTimeout, workflowID, err)
	}
	return fmt.Errorf("start investigation %s: %w", workflowID, err)
}

// executeOrFind starts a workflow or, if its ID is in use, returns the existing one.
func executeOrFind(
	ctx context.Context, conn sdk.Client, s system.Start, options sdk.StartWorkflowOptions,
) (h handle, there *workflowpb.WorkflowExecutionInfo, err error) {
	h, err = execute(ctx, conn, s, options)
	if !errors.As(err, new(*system.TakenError)) {
		return h, nil, err
	}
	there, err = describe(ctx, conn, options.ID, workflows.TypeInvestigation)
	if err != nil {
		return handle{}, nil, err
	}
	return handleOf(conn, there), there, nil
}

// startOne starts an investigation unless there is one with the same fingerprint. Requests with the same fingerprint share a
// workflow ID. Temporal runs only one of them at a time and refuses to reuse the ID of one that has completed. startOne reuses
// the ID only if that one is too old. When two callers do so at once, one is refused and finds the other's investigation.
func startOne(ctx context.Context, conn sdk.Client, s system.Start, options sdk.StartWorkflowOptions) (handle, error) {
	options.ID = sameID(s)
	options.WorkflowIDReusePolicy = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
	for {
		h, there, err := executeOrFind(ctx, conn, s, options)
		if err != nil || there == nil {
			return h, err
		}
		if h.Open || time.Since(there.GetCloseTime().AsTime()) < s.Dedup.Within.D() {
			h.Known = true
			return h, nil
		}
		options.WorkflowIDReusePolicy = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}
}

// sameID returns the workflow ID of all requests with the same fingerprint, project, tenant and chain. It consists of the beginning of
// the fingerprint, for people, and a hash.
func sameID(s system.Start) string {
	words := strings.FieldsFunc(system.IDOf(s.Request.Fingerprint), func(r rune) bool { return r == '-' })
	parts := []string{s.Request.Tenant, s.Chain, s.Request.Fingerprint}
	if p := s.Request.Project; p != "" && p != agent.DefaultProject {
		parts = append(parts, p)
	}
	hash := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return fmt.Sprintf("%s-%x", clip.Bytes(strings.Join(words, "-"), 48), hash[:6])
}

// putData puts the masked data into the request and checks everything that the workers would refuse.
func (c *connection) putData(ctx context.Context, s *system.Start) error {
	if err := s.Request.CheckData(s.Data, s.MaxData); err != nil {
		return &system.InputError{Err: err}
	}
	if err := maskRequest(ctx, s); err != nil {
		return err
	}
	if err := c.fingerprint(s); err != nil {
		return err
	}
	if len(s.Data) > maxEasy {
		st, err := c.Store(ctx)
		if err == nil && st != nil {
			s.Request.DataRef, err = st.PutBlob(ctx, []byte(s.Data))
		}
		if err != nil {
			return err
		}
	}
	if s.Request.DataRef == "" && s.Data != "" {
		var err error
		// Always a JSON string, so that agents see the data byte for byte.
		if s.Request.Data, err = json.Marshal(s.Data); err != nil {
			return fmt.Errorf("write the request: %w", err)
		}
	}
	return checkSize(s.Request)
}

// checkSize returns an error if a request is not valid, or too large for Temporal.
func checkSize(req agent.Request) error {
	if err := req.Validate(); err != nil {
		return &system.InputError{Err: err}
	}
	body, err := json.Marshal(req)
	if err != nil {
		return fmt.Errorf("write the request: %w", err)
	}
	if len(body) > maxRequest {
		remedy := "with access to the workers' store (--store, or ClientOptions.Store), large data is passed by reference"
		if req.Fork != nil {
			remedy = `shorten the texts of "results" and "prompts"`
		}
		return &system.InputError{Err: fmt.Errorf("the request has %d bytes, and the limit is %d: %s", len(body), maxRequest, remedy)}
	}
	return nil
}

// maskRequest masks the data, the guidance of a fork, and the labels of a request.
func maskRequest(ctx context.Context, s *system.Start) (err error) {
	if s.Masking == nil {
		return nil
	}
	masker := s.Masker
	if masker == nil {
		if masker, err = mask.New(*s.Masking); err != nil {
			return fmt.Errorf("mask the request: %w", err)
		}
	}
	if s.Data, err = masker.Text(ctx, s.Data); err != nil {
		return fmt.Errorf("mask the data: %w", err)
	}
	if f := s.Request.Fork; f != nil {
		masked, err := f.Masked(func(text string) (string, error) { return masker.Text(ctx, text) })
		if err != nil {
			return fmt.Errorf("mask the request of a fork: %w", err)
		}
		s.Request.Fork = &masked
	}
	s.Request.Labels, err = s.Request.Labels.Masked(func(text string) (string, error) { return masker.Text(ctx, text) })
	if err != nil {
		return fmt.Errorf("mask the labels of the request: %w", err)
	}
	return nil
}

// fingerprint computes the request's fingerprint by the rules of its chain, unless the request has or refuses one.
func (c *connection) fingerprint(s *system.Start) error {
	switch {
	case s.Request.Again, s.Request.Trial:
		s.Request.Fingerprint = ""
		return nil
	case s.Request.Fingerprint != "" && s.Workflow != "":
		return &system.InputError{Err: errors.New(`"fingerprint" determines the workflow ID: do not set another one`)}
	case s.Workflow != "" && s.Once == "":
		return nil // the workers detect duplicates
	}
	fingerprint, missing := s.Dedup.Fingerprint(s.Chain, s.Request, s.Data)
	if missing != "" {
		c.opts.Tell(fmt.Sprintf("duplicates cannot be detected, because the request has no %s", missing))
	}
	s.Request.Again = missing != "" && s.Request.Fingerprint != "" // the workers must not compute one from other parts instead
	s.Request.Fingerprint = fingerprint
	return nil
}

// summary is the text for the investigation in Temporal UI's list.
func summary(req agent.Request) string {
	if req.Fork != nil {
		return "fork of " + req.Fork.Of
	}
	if req.Chain == "" || req.AlertType == "" {
		return req.Chain + req.AlertType
	}
	return req.Chain + " · " + req.AlertType
}
