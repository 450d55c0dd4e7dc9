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

	"github.com/inquest-dev/inquest/internal/webhook"
	"github.com/inquest-dev/inquest/workflows"
)

// Prepare makes the request of an alert as the store keeps it: masked, with its data.
func (c *Client) Prepare(ctx context.Context, s Start) (json.RawMessage, error) {
	if err := c.putData(ctx, &s); err != nil {
		return nil, err
	}
	return json.Marshal(s.Request)
}

// Receive takes what a webhook has received. When it returns without an error, all of it is in the store, and the workflow that
// gives it places has been told.
func (c *Client) Receive(ctx context.Context, all []webhook.Received) (counts webhook.Counts, err error) {
	st, err := c.needStore(ctx)
	if err == nil {
		counts, err = st.ReceiveAlerts(ctx, all)
	}
	// What changes nothing may be repeated because nobody could be woken when it did.
	if err == nil && slices.ContainsFunc(all, func(a webhook.Received) bool { return a.State != webhook.Neither }) {
		err = c.waking.do(ctx, c.WakeIntake)
	}
	return counts, err
}

// WakeIntake has somebody look at the alerts that wait.
func (c *Client) WakeIntake(ctx context.Context) error {
	conn, err := c.temporal(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
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

// StartAlert starts an alert's investigation, once for its workflow id, and returns the investigation's id. The error
// is webhook.ErrRefused if it can never be started.
func (c *Client) StartAlert(ctx context.Context, workflow string, request json.RawMessage) (investigation string, err error) {
	s := Start{Workflow: workflow, Once: fmt.Sprintf("%x", sha256.Sum256([]byte(workflow)))}
	if err := json.Unmarshal(request, &s.Request); err != nil {
		return "", errors.Join(webhook.ErrRefused, err)
	}
	h, err := c.start(ctx, s)
	if errors.As(err, new(*serviceerror.InvalidArgument)) || errors.Is(err, ErrReused) {
		err = errors.Join(webhook.ErrRefused, err)
	}
	if err != nil {
		return "", err
	}
	return h.ID(), nil
}

// sharedCall is a call that those share who ask for it at once: each gets one that has begun after it asked.
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

// betweenCalls keeps a flood of deliveries from being a flood of signals to one workflow.
const betweenCalls = 50 * time.Millisecond

// run makes one call after the other while somebody waits for one.
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
