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

// size is how large histories are.
type size struct {
	events      int64
	bytes       int64
	transitions int64 // of state: what a Temporal server writes, one by one
}

// historySize adds up the histories of workflows.
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

// largestIteration is the most that an iteration of an agent adds to its history, from
// one model call to the next.
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

// processes are those that are weighed, by their ids. Linux tells; elsewhere all is 0,
// not known.
type processes struct {
	worker, server int
	database       *database // nil = SQLite, which is a part of the worker
}

// weight is what a process took.
type weight struct {
	memory  int64         // peak of resident memory, in bytes
	cpu     time.Duration // since it began
	written int64         // bytes to the disk, since it began; of PostgreSQL, to its log
	commits int64         // transactions that wrote, of PostgreSQL
}

// less is what was added since an earlier weight.
func (w weight) less(before weight) weight {
	return weight{w.memory, w.cpu - before.cpu, w.written - before.written, w.commits - before.commits}
}

// weights are those of all processes.
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

// resident is the memory that a process holds now, in bytes.
func resident(pid int) int64 { return field(pid, "status", "VmRSS:") << 10 }

// resetPeaks begins the peaks of memory anew where the system lets us; else they are
// those since the process began.
func (p processes) resetPeaks() {
	for _, pid := range []int{p.worker, p.server} {
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
	}
}

// field is a number in a file that /proc has of a process.
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

// tick is the unit of times in /proc: 100 a second on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// The fields of /proc/PID/stat that we read, counted from the one after the name.
const (
	statParent   = 1
	statUser     = 11 // with the system's time and those of children that have ended behind it
	statChildren = 14
)

func cpu(pid int) time.Duration { return times(stat(pid), statUser+1) }

func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name before it may hold anything
	return strings.Fields(rest)
}

// times adds up the times of a process, to the field last.
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
