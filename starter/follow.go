package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
)

const (
	patience  = 10 * time.Second       // after which people are told that no worker does anything
	lookEvery = 250 * time.Millisecond // for a record that is not there yet
	// pauseBetween attempts to reach a Temporal that is away.
	pauseBetween = 5 * time.Second
)

// follow shows an investigation until it has ended. Temporal says when that is,
// and how it ended; what is shown until then comes from the store.
func (c *cli) follow(ctx context.Context, t target, verbose bool) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	closed, shown := make(chan struct{}), make(chan bool, 1)
	go func() { shown <- c.view(watching, t, closed, verbose) }()
	out, err := c.patiently(ctx, t)
	if err != nil {
		stop()
		<-shown
		return err
	}
	close(closed)
	if !<-shown && out.Status != agent.StatusRefused {
		if err := c.fetchReport(ctx, &out); err != nil {
			return err
		}
		if err := terminal.End(out.record(), c.options(verbose)); err != nil {
			return err
		}
	}
	return out.verdict()
}

func (c *cli) options(verbose bool) terminal.Options {
	opts := terminal.Detect(c.out, c.getenv)
	opts.Verbose = verbose
	return opts
}

// patiently awaits the end, and says so if nothing begins.
func (c *cli) patiently(ctx context.Context, t target) (outcome, error) {
	silence := time.AfterFunc(patience, func() { c.explainSilence(ctx, t) })
	defer silence.Stop()
	out, err := t.await(ctx)
	for unavailable(err) && ctx.Err() == nil {
		c.say("Temporal does not answer; waiting")
		select {
		case <-ctx.Done():
		case <-time.After(pauseBetween):
			out, err = t.await(ctx)
		}
	}
	if ctx.Err() != nil {
		return out, fmt.Errorf("\nNot watching any more. The investigation goes on:\n  starter watch %[1]s\n  starter cancel %[1]s", t.id())
	}
	return out, err
}

// unavailable reports whether Temporal could not be asked, which may pass: the
// client has tried for a minute by itself.
func unavailable(err error) bool {
	_, away := errors.AsType[*serviceerror.Unavailable](err)
	_, late := errors.AsType[*serviceerror.DeadlineExceeded](err)
	return away || late
}

// notBegun is the length of a history before a worker has taken the first task.
const notBegun = 2

func (c *cli) explainSilence(ctx context.Context, t target) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found, err := t.client.DescribeWorkflowExecution(ctx, t.workflow, t.current)
	if err != nil || found.GetWorkflowExecutionInfo().GetHistoryLength() > notBegun {
		return
	}
	queue := found.GetExecutionConfig().GetTaskQueue().GetName()
	pollers, err := t.client.DescribeTaskQueue(ctx, queue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err == nil && len(pollers.GetPollers()) == 0 {
		c.say("no worker polls task queue %s yet; waiting", queue)
		return
	}
	c.say("no worker has taken the investigation from task queue %s yet; waiting", queue)
}

// view shows an investigation until it has ended, from the store if it is there
// and otherwise by what Temporal tells. It reports whether the end was shown too.
func (c *cli) view(ctx context.Context, t target, closed <-chan struct{}, verbose bool) (ended bool) {
	st, err := c.locate(ctx, t, closed)
	if err != nil && ctx.Err() == nil {
		c.say("starter: %v; showing what Temporal knows", err)
	}
	if st == nil {
		c.progress(ctx, t, closed)
		return false
	}
	defer st.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go stopUnless(ctx, stop, st, t.id(), closed)
	watched, opts := newLookout(st, t), c.options(verbose)
	opts.Notices = watched.tell
	_, err = terminal.Watch(ctx, watched, t.id(), opts)
	if err != nil && !errors.Is(err, context.Canceled) {
		c.say("starter: %v", err)
	}
	return err == nil
}

// stopUnless stops a watch that would never end: when Temporal says that the
// investigation is over, the store knows it too, or, if somebody terminated it, not yet.
func stopUnless(ctx context.Context, stop context.CancelFunc, st *store.Store, id string, closed <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-closed:
		if r, err := st.Investigation(ctx, id); err != nil || !r.Status.Closed() {
			stop()
		}
	}
}

// locate returns the store as soon as it knows the investigation, and nil when it
// is clear that it will not: the investigation has a plan, or has ended, without
// a record in it.
func (c *cli) locate(ctx context.Context, t target, closed <-chan struct{}) (st *store.Store, err error) {
	for ctx.Err() == nil {
		resolved := isClosed(closed) || c.resolved(ctx, t)
		if st == nil {
			if st, err = c.openStore(ctx); err != nil {
				return nil, err
			}
		}
		if st != nil {
			if _, err := st.Investigation(ctx, t.id()); err == nil {
				return st, nil
			}
		}
		if resolved {
			c.sayElsewhere(st != nil, closed)
			break
		}
		select {
		case <-ctx.Done():
		case <-closed:
		case <-time.After(lookEvery):
		}
	}
	if st == nil {
		return nil, ctx.Err()
	}
	return nil, errors.Join(ctx.Err(), st.Close())
}

// sayElsewhere tells why less is shown than there might be.
func (c *cli) sayElsewhere(haveStore bool, closed <-chan struct{}) {
	switch {
	case !haveStore:
		c.sayNoStore()
	case !isClosed(closed):
		c.say("this store does not know the investigation: its workers use another one (--store); showing what Temporal knows")
	}
}

func isClosed(closed <-chan struct{}) bool {
	select {
	case <-closed:
		return true
	default:
		return false
	}
}
