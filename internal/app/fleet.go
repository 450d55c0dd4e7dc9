package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/workflows"
)

// ErrOtherStore means that the workers of the task queue share another store.
var ErrOtherStore = errors.New("this worker's store is not the fleet's store")

// joinFleet returns an error if the store is not the fleet's. The first worker that runs investigations leaves a mark in Temporal
// for its task queue and for those of its MCP servers. A worker that only runs tools checks the mark of its queue. Nothing is
// written before all marks are read, because the store may be meant for another namespace.
func (h *Host) joinFleet(ctx context.Context) (queues []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	queues = h.fleetQueues()
	for _, q := range queues {
		if err := h.checkFleet(ctx, q); err != nil {
			return nil, err
		}
	}
	if err := h.joinNamespace(ctx); err != nil {
		return nil, err
	}
	if !h.marksFleet() {
		return queues, nil
	}
	for _, q := range queues {
		if err := h.markFleet(ctx, q, queues[0]); err != nil {
			return nil, err
		}
	}
	return queues, nil
}

// marksFleet reports whether the host runs investigations with a permanent store.
func (h *Host) marksFleet() bool { return !h.opts.TemporaryStore && len(h.ServersAlone()) == 0 }

// fleetQueues returns the task queues whose marks must name the host's store, starting with its own.
func (h *Host) fleetQueues() []string {
	queues := []string{cmp.Or(h.opts.TaskQueue, workflows.TaskQueue)}
	if h.marksFleet() {
		queues = append(queues, h.Config.Current().TaskQueues()...)
	}
	return queues
}

// watchFleet returns an error once the host's store differs from the fleet's. It may always have: a worker that only runs tools may have
// started before the first mark. joined holds the queues that the host has joined. A queue that a reload adds does not end the
// host.
func (h *Host) watchFleet(ctx context.Context, joined []string, every time.Duration) error {
	logged := map[string]bool{}
	for ticker := time.NewTicker(every); ; {
		select {
		case <-ctx.Done():
			ticker.Stop()
			return nil
		case <-ticker.C:
		}
		h.announce(ctx)
		id, name, err := h.namespace(ctx)
		if err == nil {
			err = h.Store.Belongs(ctx, id, name)
		}
		if errors.Is(err, store.ErrOtherNamespace) { // that namespace has adopted the store
			return err
		}
		queues := slices.Concat(joined, h.fleetQueues())
		slices.Sort(queues)
		for _, q := range slices.Compact(queues) {
			theirs, _, err := h.fleetStore(ctx, q)
			if err != nil || theirs.ID == "" || theirs.ID == h.Store.ID() { // if Temporal does not answer, nothing is known
				continue
			}
			if slices.Contains(joined, q) {
				return h.otherStore(q, theirs)
			}
			if !logged[q] {
				h.opts.Logger.Error("the configuration names a task queue of another fleet", "error", h.otherStore(q, theirs))
				logged[q] = true
			}
		}
	}
}

// fleetWatch is how often a worker checks whether the fleet has another store.
const fleetWatch = time.Minute

// joinNamespace returns an error if the store belongs to another namespace.
func (h *Host) joinNamespace(ctx context.Context) error {
	id, name, err := h.namespace(ctx)
	if err != nil {
		return err
	}
	return h.Store.Join(ctx, id, name, h.opts.AdoptStore)
}

func (h *Host) namespace(ctx context.Context) (id, name string, err error) {
	name = cmp.Or(h.opts.Temporal.Namespace, client.DefaultNamespace)
	id, err = NamespaceID(ctx, h.Client, name)
	return id, name, err
}

// checkFleet compares a queue's mark, if there is one, with the host's store.
func (h *Host) checkFleet(ctx context.Context, queue string) error {
	theirs, run, err := h.fleetStore(ctx, queue)
	if err != nil || theirs.ID == "" || theirs.ID == h.Store.ID() {
		return err
	}
	if h.opts.AdoptStore {
		h.opts.Logger.Warn("replaced the fleet's store", "task_queue", queue, "was", theirs.Address, "is", h.Address())
		return h.Client.TerminateWorkflow(ctx, workflows.FleetID(queue), run, "replaced by the store "+h.Store.ID())
	}
	return h.otherStore(queue, theirs)
}

func (h *Host) otherStore(queue string, theirs workflows.FleetMemo) error {
	return fmt.Errorf("%w: the workers of task queue %s share %s (store %s), but this worker has %s (store %s). "+
		"Give it the shared store, or its own task queue", ErrOtherStore, queue, theirs.Address, theirs.ID, h.Address(), h.Store.ID())
}

func (h *Host) fleetStore(ctx context.Context, queue string) (memo workflows.FleetMemo, run string, err error) {
	return FleetStore(ctx, h.Client, h.opts.Temporal.DataConverter, queue)
}

// FleetStore reads a queue's mark. Without a mark, all results are empty.
func FleetStore(ctx context.Context, c client.Client, data converter.DataConverter, queue string) (
	memo workflows.FleetMemo, run string, err error,
) {
	found, err := c.DescribeWorkflowExecution(ctx, workflows.FleetID(queue), "")
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return memo, "", nil
	}
	if err != nil {
		return memo, "", fmt.Errorf("read which store the fleet uses: %w", err)
	}
	info := found.GetWorkflowExecutionInfo()
	if info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return memo, "", nil
	}
	if err := data.FromPayload(info.GetMemo().GetFields()[workflows.FleetStore], &memo); err != nil {
		return memo, "", fmt.Errorf("read which store the fleet uses: %w", err)
	}
	return memo, info.GetExecution().GetRunId(), nil
}

// markFleet leaves a queue's mark unless there is one. If a worker with another store was faster, that one wins.
func (h *Host) markFleet(ctx context.Context, queue, main string) error {
	_, err := h.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: workflows.FleetID(queue), TaskQueue: main, WorkflowTaskTimeout: workflows.WorkflowTaskTimeout,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		Memo:                     map[string]any{workflows.FleetStore: workflows.FleetMemo{ID: h.Store.ID(), Address: h.Address()}},
		StaticSummary:            "the store of the workers of " + queue,
		StaticDetails:            fmt.Sprintf("Store %s: %s", h.Store.ID(), h.Address()),
	}, workflows.TypeFleet)
	if err != nil {
		return fmt.Errorf("record the fleet's store: %w", err)
	}
	return h.checkFleet(ctx, queue)
}

// Address names the host's store for people on other hosts, without secrets.
func (h *Host) Address() string {
	if h.where.DSN != "" {
		return h.where.String()
	}
	name, _ := os.Hostname()
	return fmt.Sprintf("%s on %s", h.where, name)
}
