package faults

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	temporalworker "go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/anthropic"
	"github.com/inquest-dev/inquest/internal/llm/gemini"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/llm/openai"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/store/storetest"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// wired is an investigation of one agent with the real workflows, activities, store and model clients, which
// call a server that speaks the wire formats. Its models are first, second and third.
type wired struct {
	*run // for the store's requests and plan
	wire llmtest.Wire
	srv  *llmtest.Server

	timeouts plan.Timeouts // of the first model; the others have a minute
}

func (w wired) Client(p plan.Provider, t plan.Timeouts) (llm.Client, error) {
	if p.Name != "first" {
		t.StreamIdle = plan.Duration(time.Minute)
	}
	opts := llm.Options{
		Name: p.Name, BaseURL: w.srv.BaseURL(w.wire), IdleTimeout: t.StreamIdle.D(),
		APIKey: func() (string, error) { return "key", nil },
	}
	switch w.wire {
	case llmtest.Gemini:
		return gemini.New(opts)
	case llmtest.Anthropic:
		return anthropic.New(opts)
	case llmtest.Responses:
		return openai.NewResponses(opts)
	}
	return openai.New(opts)
}

// investigated runs it and returns the models that were asked, in order, the status of the investigation, and its transcript.
func (w wired) investigated(t *testing.T) (asked []string, status agent.Status, kept []transcript.Entry) {
	t.Helper()
	w.store, w.id = storetest.Open(t), "wired"
	solo := plan.Agent{Name: "Solo", Type: "synthesis", MaxIterations: 1, Timeouts: w.timeouts}
	for _, model := range []string{"first", "second", "third"} {
		solo.Providers = append(solo.Providers, plan.Provider{Name: model, Model: model})
	}
	w.run.plan = plan.Plan{Chain: "c", Stages: []plan.Stage{{Name: "work", SuccessPolicy: plan.SuccessAny, Agents: []plan.Agent{solo}}}}
	return w.rerun(t)
}

func (w wired) rerun(t *testing.T) (asked []string, status agent.Status, kept []transcript.Entry) {
	t.Helper()
	before := len(w.srv.Requests())
	var suite testsuite.WorkflowTestSuite
	quiet := slog.New(slog.DiscardHandler)
	suite.SetLogger(sdklog.NewStructuredLogger(quiet))
	env := suite.NewTestWorkflowEnvironment()
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: w.id})
	env.SetStartTime(time.Now())
	env.SetTestTimeout(time.Minute) // longer than the default of three seconds, because the machine may be busy
	env.SetWorkerOptions(temporalworker.Options{DeadlockDetectionTimeout: time.Minute})
	workflows.Register(env)
	env.RegisterActivity(&activities.Activities{
		Requests: w, Planner: w, Models: w, Builtins: workerTools{journal{w.store, w.faults}},
		Transcripts: w.store, Mail: w.store, Records: w.store, Blobs: w.store, Memories: w.store, Limits: w.store, Ledger: w.store,
		Circuits: w.store, Policy: tool.NewPolicy(quiet), Logger: quiet,
	})
	env.ExecuteWorkflow(workflows.TypeInvestigation, map[string]string{"chain": "c"})
	var result workflows.InvestigationResult
	if err := env.GetWorkflowError(); err == nil {
		_ = env.GetWorkflowResult(&result)
	}
	for _, req := range w.srv.Requests()[before:] {
		asked = append(asked, req.Model)
	}
	kept, err := w.store.Entries(context.Background(), transcript.Scope{Investigation: workflows.InvestigationID(w.id, ""),
		Execution: "work/Solo"})
	if err != nil {
		t.Fatal(err)
	}
	return asked, result.Status, kept
}

func newWired(t *testing.T, wire llmtest.Wire, script llmtest.Script) wired {
	t.Helper()
	long := plan.Timeouts{Iteration: plan.Duration(time.Minute), StreamIdle: plan.Duration(time.Minute)}
	return wired{run: newRun(nil, "wired", 1, profile{}), wire: wire, srv: llmtest.Start(t, script), timeouts: long}
}

// Each kind of provider failure leads to the documented fallback in every wire format: at once if a retry
// cannot help, after two failures in a row for outages, and for a rate limit when its time is up.
func TestFallbackAtTheWire(t *testing.T) {
	t.Parallel()
	const alphabet = "abcdefghijklmnopqrstuvwxyz"
	story := llmtest.Text("It is the disk.").Chunked(3, 0)
	for name, tt := range map[string]struct {
		first     llmtest.Reply
		times     int // number of requests to the first model
		errorType string
	}{
		"a key that is refused":      {llmtest.BadKey(), 1, "CredentialsRefused"},
		"403":                        {llmtest.Status(403, "no"), 1, "CredentialsRefused"},
		"no credit":                  {llmtest.QuotaExhausted(), 1, "QuotaExhausted"},
		"402":                        {llmtest.Status(402, ""), 1, "QuotaExhausted"},
		"a request that is refused":  {llmtest.Refuse(400, "invalid_request_error", "no such field"), 1, "ModelRequestRefused"},
		"no such path":               {llmtest.Status(404, ""), 2, "NotAModel"},
		"a context that is too long": {llmtest.Refuse(400, "context_length_exceeded", "too long"), 1, "ContextTooLong"},
		"a filter":                   {llmtest.Text("").Finish("content_filter"), 1, "ContentFiltered"},
		"500":                        {llmtest.Status(500, "oops"), 2, "ModelUnavailable"},
		"503 with Retry-After":       {llmtest.Status(503, "").Header("Retry-After", "2"), 2, "ModelUnavailable"},
		"529":                        {llmtest.Refuse(529, "overloaded_error", "overloaded"), 2, "ModelUnavailable"},
		"an error in 200":            {llmtest.ErrorIn200("server_error", "oops"), 2, "ModelUnavailable"},
		"cut before it begins":       {story.Cut(0), 2, "ModelUnavailable"},
		"a partial stream":           {story.Cut(2), 2, "ReplyTruncated"},
		"cut in an event":            {story.CutWithin(2), 2, "ReplyTruncated"},
		"no finish reason":           {story.NoFinish(), 2, "ReplyTruncated"},
		"overloaded in the stream":   {story.ErrorAfter(1, "overloaded_error", "Overloaded"), 2, "ModelUnavailable"},
		"an error in the stream":     {story.ErrorAfter(1, "server_error", "oops"), 2, "ModelUnavailable"},
		"a stall":                    {story.Stall(1), 2, "StreamStalled"},
		"silence":                    {llmtest.Text("late").Slow(time.Hour), 2, "StreamStalled"},
		"too slow":                   {llmtest.Text(alphabet).Chunked(1, 400*time.Millisecond), 2, "ModelTimeout"},
		"a web page":                 {llmtest.Status(200, "<html>\n<body>Welcome"), 2, "NotAModel"},
		"429":                        {llmtest.RateLimited(0), 3, "RateLimited"}, // then the circuit opens
		"429 for an hour":            {llmtest.RateLimited(time.Hour), 1, "RateLimited"},
	} {
		for _, wire := range []llmtest.Wire{llmtest.OpenAI, llmtest.Gemini, llmtest.Anthropic, llmtest.Responses} {
			t.Run(fmt.Sprint(name, "/", wire), func(t *testing.T) {
				t.Parallel()
				w := newWired(t, wire, func(req llmtest.Request) llmtest.Reply {
					if req.Model == "first" {
						return tt.first
					}
					return llmtest.Text("it was the pool")
				})
				switch tt.errorType { // only one of the timeouts is short, so that load cannot change which one ends first
				case "StreamStalled":
					w.timeouts.StreamIdle = plan.Duration(2 * time.Second)
				case "ModelTimeout":
					w.timeouts.Iteration = plan.Duration(5 * time.Second) // of 10.4
				}
				asked, status, kept := w.investigated(t)
				want := append(slices.Repeat([]string{"first"}, tt.times), "second")
				if !slices.Equal(asked, want) || status != agent.StatusCompleted {
					t.Fatalf("asked %v, want %v; %s", asked, want, status)
				}
				hop := slices.IndexFunc(kept, func(e transcript.Entry) bool { return e.Kind == transcript.KindFallback })
				last := kept[len(kept)-1]
				if hop < 0 || kept[hop].ErrorType != tt.errorType || kept[hop].Model != "second" || last.Provider != "second" || last.Iteration != 1 {
					t.Errorf("the hop is entry %d; the last one says %q", hop, last.Text)
				}
			})
		}
	}
}

// A provider that only sends keep-alives gets the time of an iteration, like one that is too slow.
func TestPingsAlone(t *testing.T) {
	t.Parallel()
	for wire, ping := range map[llmtest.Wire]string{
		llmtest.Anthropic: `{"type":"ping"}`, llmtest.Responses: `{"type":"keepalive","sequence_number":1}`,
	} {
		t.Run(fmt.Sprint(wire), func(t *testing.T) {
			t.Parallel()
			w := newWired(t, wire, func(req llmtest.Request) llmtest.Reply {
				if req.Model == "first" {
					return llmtest.Raw(slices.Repeat([]string{ping}, 200)...).Chunked(0, 50*time.Millisecond)
				}
				return llmtest.Text("it was the pool")
			})
			w.timeouts = plan.Timeouts{Iteration: plan.Duration(8 * time.Second), StreamIdle: plan.Duration(5 * time.Second)}
			asked, status, kept := w.investigated(t)
			hop := slices.IndexFunc(kept, func(e transcript.Entry) bool { return e.Kind == transcript.KindFallback })
			if !slices.Equal(asked, []string{"first", "first", "second"}) || status != agent.StatusCompleted ||
				hop < 0 || kept[hop].ErrorType != "ModelTimeout" {
				t.Errorf("asked %v; %s; %+v", asked, status, kept)
			}
		})
	}
}

// A model with an open circuit is not asked. No iteration is used up: the next model takes over and stays the agent's model.
func TestFallbackFromAnOpenCircuit(t *testing.T) {
	t.Parallel()
	w := newWired(t, llmtest.OpenAI, func(req llmtest.Request) llmtest.Reply {
		if req.Model == "third" {
			return llmtest.Text("it was the pool")
		}
		return llmtest.Status(503, "away")
	})
	w.investigated(t)
	for _, w.id = range []string{"again", "once more"} { // a circuit opens for all once three conversations have failed
		if asked, _, _ := w.rerun(t); !slices.Equal(asked, []string{"first", "second", "third"}) {
			t.Errorf("%s: %v", w.id, asked)
		}
	}
	w.id = "after"
	asked, status, kept := w.rerun(t)
	if !slices.Equal(asked, []string{"third"}) || status != agent.StatusCompleted {
		t.Errorf("asked %v; %s", asked, status)
	}
	var said []string
	for _, e := range kept {
		if e.Kind == transcript.KindFallback {
			said = append(said, e.Text)
		}
	}
	if len(said) != 2 || !strings.Contains(said[0], "not called since") || !strings.HasSuffix(said[0], "; second takes over.") {
		t.Errorf("said %q", said)
	}
	executions, err := w.store.Executions(t.Context(), workflows.InvestigationID(w.id, ""))
	if err != nil || len(executions) != 1 || executions[0].Model != "third" || executions[0].Iterations != 1 {
		t.Errorf("executions %+v, %v", executions, err)
	}
}
