package e2e

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/workflows"
)

var (
	conversations = flag.Int("conversations", 150, "how many conversations TestLongIdleConversations opens")
	cached        = flag.Int("cached", 20, "how many of them a worker keeps in memory")
)

// weight holds the resources that a worker uses.
type weight struct {
	goroutines int
	memory     int // resident, in KB
}

func (w weight) String() string {
	return fmt.Sprintf("%d goroutines, %d MB", w.goroutines, w.memory>>10)
}

// weigh stops a worker and returns its weight: on SIGQUIT, Go prints every goroutine.
func (p *process) weigh() (w weight) {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); fields[0] == "VmRSS:" {
			w.memory, _ = strconv.Atoi(fields[1])
		}
	}
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	p.wait()
	w.goroutines = strings.Count(p.log.String(), "\ngoroutine ")
	return w
}

// Idle conversations use nothing on a worker but their place in Temporal's cache, which is bounded. A
// conversation that was evicted answers as before.
func TestLongIdleConversations(t *testing.T) {
	takesLong(t)
	t.Parallel()
	k := talks{hold: llmtest.NewHold()}
	w := newWorld(t, k.script, talkConfig)
	w.dev("--no-worker")
	empty := w.worker("--cached-workflows", strconv.Itoa(*cached))
	c := w.client()
	w.openOne(c, "first")
	before := empty.weigh()

	busy := w.worker("--cached-workflows", strconv.Itoa(*cached))
	began := time.Now()
	w.openMany(c, *conversations)
	t.Logf("%d turns in %s", *conversations, time.Since(began).Round(time.Millisecond))
	idle := busy.weigh()
	fresh := w.worker("--cached-workflows", strconv.Itoa(*cached))
	if reply := w.send("Memo", "talk-0", "still there?"); reply.Turn != 2 {
		t.Errorf("the first conversation goes on with %+v", reply)
	}
	after := fresh.weigh()
	t.Logf("a worker with 1 conversation: %s; with %d idle ones, %d cached: %s; started beside them: %s", before,
		*conversations, *cached, idle, after)
	const goroutines, memory, slack = 10, 128, 64 << 10 // limits for each workflow in the cache; memory in KB
	if idle.goroutines > before.goroutines+goroutines*(*cached) || after.goroutines > before.goroutines+goroutines {
		t.Error("idle conversations hold goroutines")
	}
	if idle.memory > before.memory+memory*(*cached)+slack {
		t.Error("idle conversations hold memory")
	}
}

// openMany runs one turn in each of many conversations.
func (w *world) openMany(c client.Client, n int) {
	w.t.Helper()
	numbers := make(chan int)
	var talkers sync.WaitGroup
	for range 8 {
		talkers.Go(func() {
			for i := range numbers {
				w.openOne(c, fmt.Sprintf("talk-%d", i))
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	talkers.Wait()
}

func (w *world) openOne(c client.Client, thread string) {
	ctx := w.context()
	handle, err := c.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: c.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
			ID: thread, TaskQueue: workflows.TaskQueue, WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		}, workflows.TypeConversation, agent.ConversationRequest{Agent: "Memo"}),
		UpdateOptions: client.UpdateWorkflowOptions{
			WorkflowID: thread, UpdateName: workflows.UpdateSend, WaitForStage: client.WorkflowUpdateStageCompleted,
			Args: []any{workflows.Message{Text: "hello"}},
		},
	})
	if err == nil {
		err = handle.Get(ctx, nil)
	}
	if err != nil {
		w.t.Errorf("%s: %v", thread, err)
	}
}
