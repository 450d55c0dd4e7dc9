package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// nearConfig has the lab's server served by workers of a queue of its own.
var nearConfig = strings.Replace(labConfig, `command: "{{.E2E_TOOLS}}"}}`, `command: "{{.E2E_TOOLS}}"}, task_queue: tools.lab}`, 1) +
	"queue: {worker_count: 8, graceful_shutdown_timeout: 3s}\n"

// A server with a task queue is listed and used by the workers of that queue alone.
func TestTaskQueueOfAServer(t *testing.T) {
	t.Parallel()
	w, _ := newLab(t, func(*lab) {})
	w.configure(nearConfig)
	w.dev("--no-worker")
	far := w.with("E2E_TOOLS=/nowhere/to/be/found") // it could not start the server
	far.start("worker started", "worker", "--config", w.config)
	near := w.with("E2E_KEY=") // it needs no model's key
	near.start("worker started", "worker", "--config", w.config, "--task-queue", "tools.lab")
	w.begin("lab")
	result := w.end("lab")
	if result.Status != agent.StatusCompleted {
		t.Fatalf("got %+v", result)
	}
	calls := 0
	for _, e := range w.entries(result.ID) {
		if e.Kind == transcript.KindCall {
			calls++
		}
		if e.Kind == transcript.KindResult && e.Status != "success" {
			t.Errorf("%s: %s %s", e.Execution, e.ErrorType, e.Text)
		}
	}
	if calls == 0 {
		t.Error("no tool was called")
	}
}

// Where nobody serves the queue, the agent is told, and the investigation goes on.
func TestTaskQueueThatNobodyServes(t *testing.T) {
	t.Parallel()
	w, _ := newLab(t, func(*lab) {})
	w.configure(nearConfig + "  \n")
	w.configure(strings.Replace(nearConfig, "defaults:\n", "defaults:\n  timeouts: {queue: 2s}\n", 1))
	w.dev()
	w.begin("lab")
	result := w.end("lab")
	if result.Status != agent.StatusCompleted {
		t.Fatalf("got %+v", result)
	}
	system := w.model.Requests()[0].Messages[0]
	if !strings.Contains(system.Text(), "Server lab is not available") {
		t.Errorf("the agent was told %q", system.Text())
	}
	if slices.ContainsFunc(w.entries(result.ID), func(e transcript.Entry) bool { return e.Kind == transcript.KindCall }) {
		t.Error("a tool was called")
	}
}
