package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

const tracesConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
mcp_servers:
  lab: {transport: {type: http, url: "{{.E2E_LAB}}"}}
defaults: {llm_provider: lab-model, scoring: {enabled: true}, executive_summary: {enabled: true}}
agents:
  Digger: {description: digs, mcp_servers: [lab]}
  Lead: {sub_agents: [Digger]}
agent_chains:
  lead: {alert_types: [lab], stages: [{name: look, agents: [{name: Lead}]}]}
`

// tracedModel dispatches a Digger, which calls a tool. The Digger's second reply is held.
func tracedModel(hold *llmtest.Hold) llmtest.Script {
	return func(req llmtest.Request) llmtest.Reply {
		switch prompt.AgentOf(req.System()) {
		case "Lead":
			if turnOf(req) == 1 {
				return llmtest.Calls(llmtest.Call{Name: "dispatch_agent", Args: `{"name":"Digger","task":"dig"}`})
			}
			return llmtest.Text("It is the pool.")
		case "Digger":
			if turnOf(req) == 1 {
				return llmtest.Calls(llmtest.Call{Name: "lab__dig", Args: `{}`})
			}
			return llmtest.Text("dug").Hold(hold, 1)
		case "ScoringAgent":
			return llmtest.Text("Good.\n90")
		}
		return llmtest.Text("The pool was too small.")
	}
}

// An investigation is one trace in an OpenTelemetry Collector, also after a kill -9 of the worker: it continues the trace of its
// request, each model call and tool call is one span, and the tool's server is told which.
func TestTraces(t *testing.T) {
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		t.Run(strings.ReplaceAll(protocol, "/", "-"), func(t *testing.T) { t.Parallel(); testTraces(t, protocol) })
	}
}

// requested is the trace context of the request, from the W3C's specification.
const (
	requestedTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	requestedParent = "00f067aa0ba902b7"
)

func testTraces(t *testing.T, protocol string) {
	endpoint, received := collector(t, protocol)
	parents := &lines{changed: make(chan struct{})}
	lab := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(parents, r.Header.Get("Traceparent"))
		digging.ServeHTTP(w, r)
	}))
	t.Cleanup(lab.Close)
	hold := llmtest.NewHold()
	w := newWorld(t, tracedModel(hold), tracesConfig).with("E2E_LAB="+lab.URL, "OTEL_BSP_SCHEDULE_DELAY=50",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://"+endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol)
	dev := w.dev()
	run := w.beginWith("traced", agent.Request{Chain: "lead", Data: []byte(`"x"`), Labels: agent.Labels{Metadata: map[string]string{
		agent.TraceParent: "00-" + requestedTrace + "-" + requestedParent + "-01",
	}}})
	hold.Wait(t)
	if !received.waitTimes(1, "execute_tool lab.dig", nil) {
		t.Fatalf("no span of the tool call: %s", received)
	}
	dev.kill()
	dev = w.dev()
	hold.Release()
	w.end("traced")
	eventually(t, "the score is there", func() bool { return strings.Contains(w.must("show", "traced", "--json"), `"score": 90`) })
	id := workflows.InvestigationID("traced", run.GetRunID())
	entries, err := w.open().After(t.Context(), id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	dev.terminate() // exports the rest
	spans := spansIn(t, received.String())
	checkTree(t, spans)
	checkRows(t, spans, entries)
	for _, s := range spans {
		sent := fmt.Sprintf("00-%s-%s-01", requestedTrace, s.SpanID)
		if s.Name == "execute_tool lab.dig" && !strings.Contains(parents.String(), sent) {
			t.Errorf("the tool's server did not get %s:\n%s", sent, parents)
		}
	}
	if strings.Contains(received.String(), key) || strings.Contains(received.String(), "It is the pool.") {
		t.Error("a key or a report is in a span")
	}
}

// digging is an MCP server with one tool.
var digging = func() http.Handler {
	srv := mcp.NewServer(&mcp.Implementation{Name: "lab", Version: "1"}, nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "dig", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "a hole"}}}, nil, nil
		})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, nil)
}()

// checkTree checks that the spans are one trace, each once, below the request's span.
func checkTree(t *testing.T, spans []otlpSpan) {
	t.Helper()
	names := map[string]string{requestedParent: ""}
	for _, s := range spans {
		if before, twice := names[s.SpanID]; twice {
			t.Errorf("span %s is there twice, as %s and %s", s.SpanID, before, s.Name)
		}
		names[s.SpanID] = s.Name
	}
	var tree []string
	for _, s := range spans {
		parent, known := names[s.ParentSpanID]
		if !known || s.TraceID != requestedTrace || s.End < s.Start {
			t.Errorf("%+v is not in the trace", s)
		}
		tree = append(tree, parent+" > "+s.Name)
	}
	want := []string{
		" > invoke_workflow lead", "invoke_workflow lead > stage look", "stage look > invoke_agent Lead",
		"invoke_agent Lead > chat lab-1", "invoke_agent Lead > execute_tool dispatch_agent", "invoke_agent Lead > invoke_agent Digger",
		"invoke_agent Digger > chat lab-1", "invoke_agent Digger > execute_tool lab.dig", "invoke_workflow lead > score 1",
		"score 1 > invoke_agent ScoringAgent", "invoke_agent ScoringAgent > chat lab-1",
	}
	for _, edge := range want {
		if !slices.Contains(tree, edge) {
			t.Errorf("%q is missing in\n%s", edge, strings.Join(tree, "\n"))
		}
	}
}

// checkRows checks that each model call and tool call in the transcript is a span.
func checkRows(t *testing.T, spans []otlpSpan, entries []transcript.Entry) {
	t.Helper()
	rows := map[string]string{}
	for _, s := range spans {
		for _, a := range s.Attributes {
			if a.Key == "inquest.row.id" {
				rows[a.Value.IntValue] = s.Name
			}
		}
	}
	n := 0
	for _, e := range entries {
		want := "chat " + e.Model
		switch {
		case e.Kind == transcript.KindResult:
			want = "execute_tool " + e.Call.Name
		case e.Model == "" || e.Kind == transcript.KindFallback:
			continue
		}
		n++
		if got := rows[fmt.Sprint(e.Seq)]; got != want {
			t.Errorf("the span of row %d (%s) is %q, not %q", e.Seq, e.Kind, got, want)
		}
	}
	if len(rows) != n {
		t.Errorf("%d rows have spans, not %d: %v", len(rows), n, rows)
	}
}

// otlpSpan is a span in OTLP's JSON.
type otlpSpan struct {
	TraceID      string `json:"traceId"`
	SpanID       string `json:"spanId"`
	ParentSpanID string `json:"parentSpanId"`
	Name         string `json:"name"`
	Start        string `json:"startTimeUnixNano"` // of the same length
	End          string `json:"endTimeUnixNano"`
	Attributes   []struct {
		Key   string `json:"key"`
		Value struct {
			IntValue string `json:"intValue"`
		} `json:"value"`
	} `json:"attributes"`
}

func spansIn(t *testing.T, received string) (out []otlpSpan) {
	t.Helper()
	for line := range strings.Lines(received) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var batch struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []otlpSpan `json:"spans"`
				} `json:"scopeSpans"`
			} `json:"resourceSpans"`
		}
		if err := json.Unmarshal([]byte(line), &batch); err != nil {
			t.Fatal(err)
		}
		for _, resource := range batch.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				out = append(out, scope.Spans...)
			}
		}
	}
	return out
}

var buildCollector = sync.OnceValues(func() (string, error) {
	return program("otelcol", "../tools/otelcol", ".")
})

// collector runs the receiver of the OpenTelemetry Collector. It returns the address for a protocol, and the batches received.
func collector(t *testing.T, protocol string) (endpoint string, received *lines) {
	t.Helper()
	path, err := buildCollector()
	if err != nil {
		t.Fatal(err)
	}
	overHTTP, overGRPC := freeAddress(t), freeAddress(t)
	if endpoint = overHTTP; protocol == "grpc" {
		endpoint = overGRPC
	}
	received = &lines{changed: make(chan struct{})}
	process := exec.Command(path, overHTTP, overGRPC)
	process.Stdout, process.Stderr = received, os.Stderr
	stdin, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		process.Wait()
	})
	if !received.wait("listening", nil) {
		t.Fatal("the collector does not listen")
	}
	return endpoint, received
}
