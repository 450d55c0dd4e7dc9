package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/mcpserver"
	"github.com/inquest-dev/inquest/internal/record"
)

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 2 min: not %s", what)
		}
	}
}

// A waiting client receives progress and then the result.
func TestMCPWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.running("slow", "payments")
	var mu sync.Mutex
	var lines []string
	session := w.mcp("viewer",
		&mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			if r.Params.Progress != float64(len(lines)+1) {
				t.Errorf("progress %v after %d", r.Params.Progress, len(lines))
			}
			lines = append(lines, r.Params.Message)
		}})
	params := &mcp.CallToolParams{Name: "get_investigation", Arguments: map[string]any{"id": "slow", "wait": 60}}
	params.SetProgressToken("token")
	go func() {
		for {
			mu.Lock()
			reported := strings.Contains(strings.Join(lines, "\n"), "running")
			mu.Unlock()
			if reported {
				w.end(id, "slow")
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	result, err := session.CallTool(t.Context(), params)
	if err != nil || result.IsError || result.StructuredContent.(map[string]any)["report"] != "the pool" {
		t.Errorf("%+v, %v", result, err)
	}
	eventually(t, "nobody waits any more", func() bool { return w.temporal.awaiting.Load() == 0 })
}

// A wait ends when something new needs a person, but not because of earlier items.
func TestMCPWaitEndsForPeople(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.running("slow", "payments")
	session := w.mcp("viewer", nil)
	done := make(chan standingOut)
	ask := func() {
		out, err := use[standingOut](t, session, "get_investigation", map[string]any{"id": "slow", "wait": 60})
		if err != nil {
			t.Error(err)
		}
		done <- out
	}
	wait := func(seq int, names ...string) {
		waits := record.Waits{}
		for _, name := range names {
			waits.Questions = append(waits.Questions, record.Question{ID: name, Kind: "clarification", Stage: "dig", Question: "which?"})
		}
		err := w.store.SetWaiting(t.Context(), record.Waiting{
			Investigation: id, WorkflowID: "slow", RunID: "r", Seq: seq, Status: agent.StatusWaitingAnswer, Waits: waits,
		})
		if err != nil {
			t.Error(err)
		}
	}
	for seq, names := range [][]string{{"q1"}, {"q1", "q2"}} {
		go ask()
		eventually(t, "somebody waits", func() bool { return w.temporal.awaiting.Load() == 1 })
		select {
		case out := <-done:
			t.Errorf("it waits no more, for %+v", out)
		case <-time.After(200 * time.Millisecond):
		}
		wait(seq+1, names...)
		if out := <-done; len(out.Waits) != len(names) || !strings.Contains(out.Next, "person") {
			t.Errorf("waits %+v, next %q", out.Waits, out.Next)
		}
	}
}

// Leaving ends the wait in each revision of the protocol, and the investigation goes on.
func TestMCPCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.running("slow", "payments")
	none := func() bool { return w.temporal.awaiting.Load() == 0 }
	session := w.mcp("viewer", nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		eventually(t, "somebody waits", func() bool { return !none() })
		cancel()
	}()
	params := &mcp.CallToolParams{Name: "get_investigation", Arguments: map[string]any{"id": "slow", "wait": 60}}
	if _, err := session.CallTool(ctx, params); err == nil {
		t.Error("the call goes on")
	}
	eventually(t, "nobody waits any more", none)

	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_investigation","arguments":{"id":"slow","wait":60}}}`
	ctx, cancel = context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+mcpserver.Path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + secret("viewer"), "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2025-11-25",
	} {
		r.Header.Set(name, value)
	}
	go func() {
		eventually(t, "somebody waits", func() bool { return !none() })
		cancel()
	}()
	if response, err := http.DefaultClient.Do(r); err == nil {
		_ = response.Body.Close()
	}
	eventually(t, "nobody waits any more", none)
	if info := w.temporal.started["slow"]; info.GetStatus().String() != "Running" {
		t.Errorf("it is %s", info.GetStatus())
	}
}

// An investigation that was started by other investigations cannot start another one, and a repeated call starts nothing more.
func TestMCPDepth(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.mcp("operator", nil)
	start := func(parent string) (out standingOut, err error) {
		params := &mcp.CallToolParams{
			Meta: mcp.Meta{"inquest/idempotencyKey": parent + "/dig/Memo/1/2/abc"}, Name: "start_investigation",
			Arguments: map[string]any{"chain": "shop", "data": "slow"},
		}
		result, err := session.CallTool(t.Context(), params)
		if err == nil && result.IsError {
			t.Log(result.Content[0].(*mcp.TextContent).Text)
			return out, context.Canceled
		}
		if err == nil {
			out.ID = result.StructuredContent.(map[string]any)["id"].(string)
		}
		return out, err
	}
	first, err := start("elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	second, err := start("elsewhere")
	if err != nil || second.ID != first.ID {
		t.Errorf("%s, %v, want %s", second.ID, err, first.ID)
	}
	if req := w.temporal.inputs[0].(agent.Request); req.Metadata["inquest_depth"] != "1" {
		t.Errorf("metadata %v", req.Metadata)
	}
	if err := w.store.StartInvestigation(t.Context(), record.Investigation{
		ID: "deep:000000000001", WorkflowID: "deep2", RunID: "r", Chain: "shop", Status: agent.StatusRunning, PlanHash: "p",
		StartedAt: time.Now(),
		Labels:    agent.Labels{Project: "payments", Metadata: map[string]string{"inquest_depth": "2"}},
	}); err != nil {
		t.Fatal(err)
	}
	if out, err := start("deep:000000000001"); err == nil {
		t.Errorf("started %+v", out)
	}
}

// A request is a single call, not a batch of thousands.
func TestMCPRefusesBatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_chains","arguments":{}}}`
	got := w.call("viewer", http.MethodPost, mcpserver.Path, json.RawMessage(" ["+call+","+call+"]"),
		"Accept", "application/json, text/event-stream")
	if got.status != http.StatusBadRequest || !strings.Contains(got.body, "one message") {
		t.Errorf("a batch: %d %s", got.status, got.body)
	}
}
