package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
)

// requestConfig has a chain that treats requests for one host as duplicates.
const requestConfig = labConfig + `
  one:
    stages: [{name: s, agents: [{name: Alpha}]}]
    dedup: {by: [metadata.host], within: 1h}
`

// TestRequest has many people send the same request at once, in every possible way. One of the requests is
// investigated, with the tools, priority and tenant that it names.
func TestRequest(t *testing.T) {
	t.Parallel()
	hold := llmtest.NewHold()
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if turnOf(req) > 1 {
			return llmtest.Text("done").Hold(hold, 0)
		}
		return llmtest.Calls(llmtest.Call{Name: "lab__image", Args: `{}`}, llmtest.Call{Name: "lab__counter", Args: `{"file":"effects"}`})
	}, requestConfig)
	w = w.with("INQUEST_CONFIG=" + w.config) // the starter needs the rule for duplicates
	w.dev()
	run := func(args ...string) (id string, known bool) {
		out := w.must(append([]string{"run", "--chain", "one", "--data", "x", "--meta", "host=web-1", "--tenant", "acme", "--detach", "--json"},
			args...)...)
		var got struct {
			ID    string
			Known bool
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return got.ID, got.Known
	}
	var together sync.WaitGroup
	var mu sync.Mutex
	ids := map[string]int{} // 1 for the caller who started it
	for range 6 {
		together.Go(func() {
			id, known := run("--priority", "2", "--mcp", "lab=image")
			mu.Lock()
			defer mu.Unlock()
			if ids[id] += 0; !known {
				ids[id]++
			}
		})
	}
	together.Wait()
	first := ""
	for id := range ids {
		first = id
	}
	if len(ids) != 1 || ids[first] != 1 {
		t.Fatalf("started %v", ids)
	}
	hold.Wait(t)
	name, _, _ := strings.Cut(first, ":")
	for _, child := range []string{name, first + "/s", first + "/s/Alpha"} {
		described, err := w.client().DescribeWorkflowExecution(context.Background(), child, "")
		if p := described.GetWorkflowExecutionInfo().GetPriority(); err != nil || p.GetPriorityKey() != 2 || p.GetFairnessKey() != "acme" {
			t.Errorf("%s has priority %v, %v", child, p, err)
		}
	}

	// Temporal's own CLI and UI may choose any workflow id, and no options but the input.
	stock := agent.Request{Chain: "one", Data: json.RawMessage(`"x"`)}
	stock.Labels = agent.Labels{Tenant: "acme", Metadata: map[string]string{"host": "web-1"}}
	if err := w.beginWith("stock", stock).Get(context.Background(), nil); err == nil ||
		!strings.Contains(err.Error(), first+" has the same fingerprint") {
		t.Errorf("another one of the same: %v", err)
	}
	stock.Metadata["host"], stock.Priority = "web-2", 5
	w.beginWith("stock", stock)
	hold.Release()
	w.end(name)
	other := w.end("stock").ID
	described, err := w.client().DescribeWorkflowExecution(context.Background(), other+"/s", "")
	if p := described.GetWorkflowExecutionInfo().GetPriority(); err != nil || p.GetPriorityKey() != 5 || p.GetFairnessKey() != "acme" {
		t.Errorf("its stage has priority %v, %v", p, err)
	}

	if id, known := run(); id != first || !known {
		t.Errorf("after its end: %s, known %t", id, known)
	}
	second, known := run("--again")
	if second == first || known {
		t.Errorf("asked for again: %s, known %t", second, known)
	}
	name, _, _ = strings.Cut(second, ":")
	w.end(name)
	var listed []struct{ ID string }
	if err := json.Unmarshal([]byte(w.must("list", "--meta", "host=web-1", "--tenant", "acme", "--status", "completed", "--json")),
		&listed); err != nil || len(listed) != 2 {
		t.Errorf("listed %v, %v", listed, err)
	}
	if _, errs, code := w.starter("", "run", "--chain", "one", "--data", "x", "--mcp", "lab=imaeg", "--mcp", "lob"); code != 2 ||
		!strings.Contains(errs, `did you mean "lab.image"`) || !strings.Contains(errs, `unknown MCP server "lob"`) {
		t.Errorf("unknown names: %d, %s", code, errs)
	}
	testRequestTools(w, first)
}

// testRequestTools checks the outcome of the calls: the tool that the request names returned an image, and the
// other one was not called.
func testRequestTools(w *world, id string) {
	w.t.Helper()
	refused := false
	entries, err := w.open().After(context.Background(), id, 0, 0)
	for _, e := range entries {
		refused = refused || e.ErrorType == "PermissionDenied" && strings.Contains(e.Text, "lab.counter is not enabled for this investigation")
	}
	if err != nil || !refused {
		w.t.Errorf("the tool that the request does not name was not refused: %v", err)
	}
	to := filepath.Join(w.t.TempDir(), "shot.png")
	w.must("artifacts", id, "1", "-o", to)
	if data, err := os.ReadFile(to); err != nil || string(data) != string(tooltest.PNG) {
		w.t.Errorf("the image is %d bytes, %v", len(data), err)
	}
}
