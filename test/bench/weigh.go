package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/test/history"
)

// size is the size of histories.
type size struct {
	events      int64
	bytes       int64
	transitions int64 // state transitions, each of which a Temporal server writes separately
}

// historySize adds up the sizes of workflow histories.
func historySize(ctx context.Context, c client.Client, workflowIDs []string) (sum size, err error) {
	for _, id := range workflowIDs {
		described, err := c.DescribeWorkflowExecution(ctx, id, "")
		if err != nil {
			return sum, fmt.Errorf("describe workflow %s: %w", id, err)
		}
		info := described.GetWorkflowExecutionInfo()
		sum.events += info.GetHistoryLength()
		sum.bytes += info.GetHistorySizeBytes()
		sum.transitions += info.GetStateTransitionCount()
	}
	return sum, nil
}

// largestIteration returns the most that an iteration of an agent adds to its history, from one model call to
// the next.
func largestIteration(ctx context.Context, c client.Client, workflowID string) (largest size, err error) {
	var now size
	begun := false
	events := c.GetWorkflowHistory(ctx, workflowID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return largest, fmt.Errorf("read the history of %s: %w", workflowID, err)
		}
		if history.AsksModel(event) {
			if begun {
				largest.events, largest.bytes = max(largest.events, now.events), max(largest.bytes, now.bytes)
			}
			begun, now = true, size{}
		}
		now.events++
		now.bytes += int64(event.Size())
	}
	return largest, nil
}

// processes holds the IDs of the measured processes. Only Linux reports usage; elsewhere all figures are 0,
// which means unknown.
type processes struct {
	worker, server int
	database       *database // nil for SQLite, which is a part of the worker
}

// weight is the resource usage of a process.
type weight struct {
	memory  int64         // peak of resident memory, in bytes
	cpu     time.Duration // since its start
	written int64         // bytes to disk since its start; for PostgreSQL, to its log
	commits int64         // transactions that wrote, for PostgreSQL
}

// less returns the usage since an earlier weight.
func (w weight) less(before weight) weight {
	return weight{w.memory, w.cpu - before.cpu, w.written - before.written, w.commits - before.commits}
}

// weights holds the usage of all processes.
type weights struct{ worker, server, database weight }

func (w weights) less(before weights) weights {
	return weights{w.worker.less(before.worker), w.server.less(before.server), w.database.less(before.database)}
}

func (p processes) weigh(ctx context.Context) (w weights, err error) {
	if p.database != nil {
		w.database, err = p.database.weigh(ctx)
	}
	w.worker, w.server = weigh(p.worker), weigh(p.server)
	return w, err
}

func weigh(pid int) weight {
	return weight{memory: field(pid, "status", "VmHWM:") << 10, cpu: cpu(pid), written: field(pid, "io", "write_bytes:")}
}

// resident returns the current memory of a process in bytes.
func resident(pid int) int64 { return field(pid, "status", "VmRSS:") << 10 }

// resetPeaks resets the memory peaks if the system allows it; otherwise they count from the start of the
// process.
func (p processes) resetPeaks() {
	for _, pid := range []int{p.worker, p.server} {
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
	}
}

// field returns a number from a file of a process in /proc.
func field(pid int, file, name string) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name); ok {
			number, _ := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return number
		}
	}
	return 0
}

// tick is the unit of times in /proc: 100 per second on every Linux that Go supports.
const tick = 10 * time.Millisecond

// The fields of /proc/PID/stat that we read, counted from the field after the name.
const (
	statParent   = 1
	statUser     = 11 // followed by the system time and the times of ended children
	statChildren = 14
)

func cpu(pid int) time.Duration { return times(stat(pid), statUser+1) }

func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name before it may contain any characters
	return strings.Fields(rest)
}

// times adds up the times of a process, up to the field last.
func times(stat []string, last int) (sum time.Duration) {
	if len(stat) <= last {
		return 0
	}
	for _, text := range stat[statUser : last+1] {
		ticks, _ := strconv.ParseInt(text, 10, 64)
		sum += time.Duration(ticks) * tick
	}
	return sum
}
