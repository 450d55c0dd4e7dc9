package e2e

import (
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/kit/npmtest"
)

// editor is a client of our MCP server, with the notifications that it received.
type editor struct {
	t        *testing.T
	session  *mcp.ClientSession
	mu       sync.Mutex
	received []string
}

func newEditor(t *testing.T, transport mcp.Transport) *editor {
	t.Helper()
	e := &editor{t: t}
	client := mcp.NewClient(&mcp.Implementation{Name: "editor", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.received = append(e.received, r.Params.Message)
		},
	})
	session, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	e.session = session
	return e
}

// call makes a call and returns the contents of its result.
func (e *editor) call(name string, in map[string]any) (map[string]any, error) {
	params := &mcp.CallToolParams{Name: name, Arguments: in}
	params.SetProgressToken(name)
	result, err := e.session.CallTool(e.t.Context(), params)
	if err != nil {
		return nil, err
	}
	out, _ := result.StructuredContent.(map[string]any)
	return out, result.GetError()
}

// expectText waits until the editor has received a notification.
func (e *editor) expectText(text string) {
	e.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		e.mu.Lock()
		received := strings.Join(e.received, "\n")
		e.mu.Unlock()
		if strings.Contains(received, text) {
			return
		}
	}
	e.t.Errorf("the editor was not told %q, but %q", text, e.received)
}

// Third-party editors start `starter mcp` and investigate with it. It prints nothing but the protocol, and it exits with the editor.
func TestMCPOverStdio(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newScript().script(), labConfig)
	w.dev()
	cmd := exec.CommandContext(t.Context(), "node", "stdio.mjs", filepath.Join(bin, "starter"), "mcp", "--config", w.config)
	cmd.Dir, cmd.Env = npmtest.Folder(t, "../../internal/face/api/testdata/mcp"), w.env
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	type received struct {
		Tools                   int
		Status, Report, Refused string
		Lists, Runs             bool
		Errors                  []string
	}
	want := received{
		Tools: 12, Status: "completed", Report: "the report of gamma", Lists: true, Errors: []string{},
		Refused: "nothing with this ID exists in your projects",
	}
	var got []received
	err = json.Unmarshal(out, &got)
	if diff := cmp.Diff([]received{want, want}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s\n%s", err, diff, &said)
	}
}

// The worker is killed while two editors wait. The editor that started `starter mcp` still receives the
// progress and the outcome; the one whose server was the worker gets an error and asks the next worker.
func TestLongKillWhileEditorsWait(t *testing.T) {
	takesLong(t)
	t.Parallel()
	l := newScript()
	l.heldAt = "Beta 2"
	w := newWorld(t, l.script(), labConfig)
	w.dev("--no-worker")
	address := freeAddress(t)
	worker := w.worker("--http", address)
	cmd := exec.Command(filepath.Join(bin, "starter"), "mcp", "--config", w.config)
	cmd.Env, cmd.Stderr = w.env, io.Discard
	local := newEditor(t, &mcp.CommandTransport{Command: cmd})
	remote := newEditor(t, &mcp.StreamableClientTransport{Endpoint: "http://" + address + "/mcp", MaxRetries: -1})

	started, err := local.call("start_investigation", map[string]any{"chain": "lab", "data": "the disk is full"})
	if err != nil {
		t.Fatal(err)
	}
	wait := map[string]any{"id": started["id"], "wait": 300}
	var group sync.WaitGroup
	var lost error
	group.Go(func() { _, lost = remote.call("get_investigation", wait) })
	ended := make(chan map[string]any, 1)
	go func() {
		out, err := local.call("get_investigation", wait)
		if err != nil {
			t.Error(err)
		}
		ended <- out
	}()
	local.expectText("Beta")
	remote.expectText("Beta")
	worker.kill()
	group.Wait()
	if lost == nil {
		t.Error("the call outlives its server")
	}
	l.hold.Release()
	w.worker("--http", address)
	if out := <-ended; out["status"] != "completed" || out["report"] != "the report of gamma" {
		t.Errorf("it ends as %v", out)
	}
	if out, err := remote.call("get_investigation", wait); err != nil || out["report"] != "the report of gamma" {
		t.Errorf("the next worker says %v, %v", out, err)
	}
}
