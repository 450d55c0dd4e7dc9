package client

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
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

// KnownAlerts reports which of the firing alerts of a webhook are stored already. Receive takes these without a request.
func (c *Client) KnownAlerts(ctx context.Context, all []webhook.Received) ([]bool, error) {
	st, err := c.needStore(ctx)
	if err != nil {
		return nil, err
	}
	return st.KnownAlerts(ctx, all)
}

// Receive stores alerts from a webhook, or none of them. Call AlertsReceived after the last of a delivery.
func (c *Client) Receive(ctx context.Context, all []webhook.Received) (webhook.Counts, error) {
	st, err := c.needStore(ctx)
	if err != nil {
		return webhook.Counts{}, err
	}
	return st.ReceiveAlerts(ctx, all)
}

// AlertsReceived returns once the intake workflow has been signaled. If ctx ends before, the signal is still sent.
func (c *Client) AlertsReceived(ctx context.Context) error { return c.waking.do(ctx, c.WakeIntake) }

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
		StaticSummary: "webhook alerts that wait for a free slot",
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
