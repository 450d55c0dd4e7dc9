package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
)

// size is how large histories are.
type size struct {
	events int64
	bytes  int64
}

// historySize adds up the histories of workflows.
func historySize(ctx context.Context, c client.Client, workflowIDs []string) (sum size, err error) {
	for _, id := range workflowIDs {
		described, err := c.DescribeWorkflowExecution(ctx, id, "")
		if err != nil {
			return sum, fmt.Errorf("describe workflow %s: %w", id, err)
		}
		sum.events += described.GetWorkflowExecutionInfo().GetHistoryLength()
		sum.bytes += described.GetWorkflowExecutionInfo().GetHistorySizeBytes()
	}
	return sum, nil
}

// processes are the two whose memory and work are weighed, by their ids. Linux
// tells; elsewhere all is 0, not known.
type processes struct{ worker, server int }

// weight is what a process took.
type weight struct {
	memory int64         // peak of resident memory, in bytes
	cpu    time.Duration // since it began
}

// reset begins the peaks of memory anew where the system lets us; else they are
// those since the process began.
func (p processes) reset() {
	debug.FreeOSMemory() // what the batch before held is not this one's
	for _, pid := range []int{p.worker, p.server} {
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
	}
}

func (p processes) weigh() (worker, server weight) {
	return weight{peak(p.worker), cpu(p.worker)}, weight{peak(p.server), cpu(p.server)}
}

func peak(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}

// tick is the unit of times in /proc: 100 a second on every Linux that Go runs on.
const tick = 10 * time.Millisecond

func cpu(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name before it may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * tick
}
