package tracing

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

var quiet = slog.New(slog.DiscardHandler)

func TestFromEnv(t *testing.T) {
	for name, tt := range map[string]struct {
		env  map[string]string
		on   bool
		want string // in the error
	}{
		"nothing":          {},
		"endpoint":         {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, on: true},
		"for traces":       {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/v1/traces"}, on: true},
		"default endpoint": {env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, on: true},
		"off":              {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}},
		"SDK off":          {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}},
		"other exporter": {env: map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"},
			want: `unknown OTEL_TRACES_EXPORTER "zipkin"; available: otlp, none`},
		"other protocol": {env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"},
			want: `unknown protocol "http/json" in OTEL_EXPORTER_OTLP_TRACES_PROTOCOL or OTEL_EXPORTER_OTLP_PROTOCOL; available: `},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range tt.env {
				t.Setenv(key, value)
			}
			tracer, err := FromEnv(t.Context(), "test", quiet)
			if got := tracer != nil; got != tt.on {
				t.Errorf("a tracer: %v", got)
			}
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v", err)
			}
			tracer.Close(t.Context())
		})
	}
}

// A collector that refuses spans neither stops the worker nor fills the log.
func TestRefusedSpans(t *testing.T) {
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	var log strings.Builder
	tracer, err := FromEnv(t.Context(), "test", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	s := tracer.Store(openStore(t))
	for n := range 3 {
		appendReply(t, s, n+1, "1")
		if err := tracer.provider.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
	}
	tracer.Close(t.Context())
	if n := strings.Count(log.String(), "spans were lost"); n != 1 || !strings.Contains(log.String(), "401") {
		t.Errorf("%d lines about lost spans:\n%s", n, &log)
	}
}

const inv = "inv/run"

func openStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "inquest.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// appendReply appends the reply of an iteration as an attempt of the same run would.
func appendReply(t *testing.T, s Store, iteration int, attempt string) {
	t.Helper()
	_, err := s.Append(t.Context(), transcript.Step{
		Scope: transcript.Scope{Investigation: inv, Execution: "look/Lead"}, Writer: transcript.Writer{RunID: "run", ActivityID: "5/" + attempt},
		Rows: []transcript.Row{{Key: transcript.Key{Iteration: iteration, Position: 1}, Kind: transcript.KindReply, Body: transcript.Body{
			Text: "It is the pool.", Answer: transcript.Answer{Provider: "lab", Model: "lab-1", ElapsedMS: 1500, Finish: "stop",
				Usage: &agent.Usage{InputTokens: 10, OutputTokens: 2, CostUSD: 0.5}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Activities that are retried after their commit export no second span.
func TestOnce(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	tracer := newTracer(sdktrace.WithSyncer(spans))
	s := tracer.Store(openStore(t))
	began := time.Now().Add(-time.Minute).Truncate(time.Microsecond)
	ended := began.Add(30 * time.Second)
	start := record.Investigation{
		ID: inv, WorkflowID: "inv", RunID: "run", Writer: "run", Chain: "lead", Status: agent.StatusRunning, StartedAt: began,
	}
	if err := s.StartInvestigation(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	stage := record.Stage{Investigation: inv, Name: "look", Status: agent.StatusFailed, StartedAt: began, EndedAt: &ended}
	stage.Envelope.ErrorType = "ModelUnavailable"
	lead := record.Execution{Investigation: inv, Name: "look/Lead", Stage: "look", Agent: "Lead", Status: agent.StatusCompleted,
		StartedAt: began, EndedAt: &ended}
	finish := start
	finish.Status, finish.EndReason, finish.EndedAt = agent.StatusFailed, agent.EndNoReport, &ended
	for _, attempt := range []string{"1", "2"} {
		appendReply(t, s, 1, attempt)
		if err := s.SaveStage(t.Context(), stage, []record.Execution{lead}, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.FinishInvestigation(t.Context(), finish); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, span := range spans.GetSpans() {
		got = append(got, span.Name+" "+span.EndTime.Sub(span.StartTime).String()+" "+span.Status.Description)
		if span.SpanContext.TraceID() != spans.GetSpans()[0].SpanContext.TraceID() {
			t.Errorf("%s is in another trace", span.Name)
		}
	}
	want := []string{"chat lab-1 1.5s ", "invoke_agent Lead 30s ", "stage look 30s ModelUnavailable", "invoke_workflow lead 30s no_report"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("spans:\n%s\nnot:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The sampler of the environment decides for the whole trace.
func TestSampler(t *testing.T) {
	for _, tt := range []struct {
		sampler, parent string
		want            int
	}{
		{"always_off", "", 0},
		{"parentbased_always_on", "", 1},
		{"parentbased_always_off", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", 1},
		{"parentbased_always_on", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", 0},
		{"parentbased_always_on", "no trace context", 1},
	} {
		t.Setenv("OTEL_TRACES_SAMPLER", tt.sampler)
		spans := tracetest.NewInMemoryExporter()
		s := newTracer(sdktrace.WithSyncer(spans)).Store(openStore(t))
		start := record.Investigation{ID: inv, WorkflowID: "inv", RunID: "run", Writer: "run", Status: agent.StatusRunning, StartedAt: time.Now(),
			Labels: agent.Labels{Metadata: map[string]string{agent.TraceParent: tt.parent}}}
		if err := s.StartInvestigation(t.Context(), start); err != nil {
			t.Fatal(err)
		}
		appendReply(t, s, 1, "1")
		if n := len(spans.GetSpans()); n != tt.want {
			t.Errorf("%+v: %d spans", tt, n)
		}
	}
}

// The model calls of a conversation, which has no end, are spans without a parent in one trace.
func TestConversation(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	s := newTracer(sdktrace.WithSyncer(spans)).Store(openStore(t))
	appendReply(t, s, 1, "1")
	appendReply(t, s, 2, "1")
	all := spans.GetSpans()
	if len(all) != 2 || all[0].Parent.IsValid() || all[1].SpanContext.TraceID() != all[0].SpanContext.TraceID() {
		t.Errorf("spans: %+v", all)
	}
}
