package client

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/webhook"
	"github.com/inquest-dev/inquest/workflows"
)

// Prepare builds the stored form of an alert's request: masked and including its data.
func (c *Client) Prepare(ctx context.Context, s system.Start) (json.RawMessage, error) {
	if err := c.putData(ctx, &s); err != nil {
		return nil, err
	}
	return json.Marshal(s.Request)
}

// Receive stores the alerts from a webhook. When it returns without an error, all of them are in the store and the intake workflow has
// been signaled.
func (c *Client) Receive(ctx context.Context, all []webhook.Received) (counts webhook.Counts, err error) {
	st, err := c.needStore(ctx)
	if err == nil {
		counts, err = st.ReceiveAlerts(ctx, all)
	}
	// An alert that changes nothing may be the resend of one whose signal failed, so it signals too.
	if err == nil && slices.ContainsFunc(all, func(a webhook.Received) bool { return a.State != webhook.Neither }) {
		err = c.waking.do(ctx, c.WakeIntake)
	}
	return counts, err
}

// WakeIntake signals the intake workflow to look at the queued alerts.
func (c *Client) WakeIntake(ctx context.Context) error {
	conn, err := c.temporal(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err = conn.SignalWithStartWorkflow(ctx, workflows.IntakeID(c.opts.TaskQueue), workflows.SignalWake, nil, sdk.StartWorkflowOptions{
		TaskQueue: c.opts.TaskQueue, WorkflowTaskTimeout: workflows.WorkflowTaskTimeout,
		StaticSummary: "alerts of webhooks that wait for a place",
	}, workflows.TypeIntake)
	if err != nil {
		return fmt.Errorf("wake the intake of alerts: %w", err)
	}
	return nil
}

// StartAlert starts an alert's investigation, once per workflow ID, and returns the investigation's ID. The error is
// webhook.ErrRefused if the investigation can never be started.
func (c *Client) StartAlert(ctx context.Context, workflow string, request json.RawMessage) (investigation string, err error) {
	s := system.Start{Workflow: workflow, Once: fmt.Sprintf("%x", sha256.Sum256([]byte(workflow)))}
	if err := json.Unmarshal(request, &s.Request); err != nil {
		return "", errors.Join(webhook.ErrRefused, err)
	}
	h, err := c.start(ctx, s)
	if errors.As(err, new(*serviceerror.InvalidArgument)) || errors.Is(err, system.ErrReused) {
		err = errors.Join(webhook.ErrRefused, err)
	}
	if err != nil {
		return "", err
	}
	return h.ID(), nil
}

// sharedCall merges concurrent requests for a call. Each requester gets the result of a call that began after the request.
type sharedCall struct {
	mu   sync.Mutex
	busy bool
	next *turn
}

type turn struct {
	done chan struct{}
	err  error
}

func (s *sharedCall) do(ctx context.Context, call func(context.Context) error) error {
	s.mu.Lock()
	if s.next == nil {
		s.next = &turn{done: make(chan struct{})}
	}
	mine := s.next
	if !s.busy {
		s.busy = true
		go s.run(context.WithoutCancel(ctx), call)
	}
	s.mu.Unlock()
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// betweenCalls limits the signals that a flood of deliveries sends to one workflow.
const betweenCalls = 50 * time.Millisecond

// run makes one call after another as long as anyone has requested one.
func (s *sharedCall) run(ctx context.Context, call func(context.Context) error) {
	for {
		s.mu.Lock()
		now := s.next
		if s.next, s.busy = nil, now != nil; now == nil {
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		now.err = call(ctx)
		close(now.done)
		time.Sleep(betweenCalls)
	}
}
