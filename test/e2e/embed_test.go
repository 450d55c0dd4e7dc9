package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// embedConfig is the part of the configuration that the example needs: the model that it names.
const embedConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
`

// triage opens a ticket and reports the result.
func triage(req llmtest.Request) llmtest.Reply {
	if turnOf(req) == 1 {
		return llmtest.Calls(llmtest.Call{Name: "open_ticket", Args: `{"title":"checkout is slow"}`})
	}
	return llmtest.Text("The tool said: " + req.Last().Text())
}

// tickets is a ticket system that can be held while it opens a ticket.
type tickets struct {
	*httptest.Server
	mu     sync.Mutex
	titles []string
	came   chan struct{}
	answer chan struct{}
}

func newTickets(t *testing.T) *tickets {
	t.Helper()
	s := &tickets{came: make(chan struct{}, 9), answer: make(chan struct{}, 9)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		title, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.titles = append(s.titles, string(title))
		s.mu.Unlock()
		s.came <- struct{}{}
		select {
		case <-s.answer:
			w.Header().Set("Location", "/tickets/42")
			w.WriteHeader(http.StatusCreated)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *tickets) opened() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.titles...)
}

// embed starts the example.
func (w *world) embed() *process {
	w.t.Helper()
	if _, err := program("embed", "../..", "./examples/embed"); err != nil {
		w.t.Fatal(err)
	}
	return w.start("worker started", "embed")
}

// The example is a full worker: its function is called, the result reaches the model, and a kill during the
// call does not cause a second call.
func TestEmbed(t *testing.T) {
	t.Parallel()
	system := newTickets(t)
	w := newWorld(t, triage, embedConfig)
	w = w.with("INQUEST_CONFIG="+w.config, "MODEL=lab-model", "TICKETS_URL="+system.URL, "ON_DUTY=Ada")
	w.dev("--no-worker")
	program := w.embed()

	system.answer <- struct{}{}
	w.beginWith("calm", agent.Request{AlertType: "complaint", Data: []byte(`"slow"`)})
	want := `The tool said: {"status":"success","data":{"ticket":"/tickets/42"}}`
	if result := w.end("calm"); result.Status != agent.StatusCompleted || result.Report != want {
		t.Errorf("got %+v, want the report %s", result, want)
	}
	if got := system.opened(); len(got) != 1 || got[0] != "checkout is slow" {
		t.Errorf("tickets: %q", got)
	}
	offered := w.model.Requests()[0].Tools
	if len(offered) != 2 || offered[0].Function.Name != "open_ticket" ||
		!strings.Contains(string(offered[0].Function.Parameters), `"the problem in one line"`) {
		t.Errorf("offered: %+v", offered)
	}
	if task := w.model.Requests()[0].Last().Text(); !strings.Contains(task, `{"on_duty":"Ada"}`) {
		t.Errorf("the hook's output is not in the task:\n%s", task)
	}
	<-system.came

	run := w.beginWith("killed", agent.Request{AlertType: "complaint", Data: []byte(`"slow"`)})
	<-system.came
	program.kill()
	program = w.embed()
	if result := w.end("killed"); result.Status != agent.StatusCompleted ||
		!strings.Contains(result.Report, "it was not retried. Verify") {
		t.Errorf("got %+v", result)
	}
	if got := system.opened(); len(got) != 2 {
		t.Errorf("the call was made again: %q", got)
	}
	calls := map[transcript.Kind]string{}
	for _, e := range w.entries(workflows.InvestigationID("killed", run.GetRunID())) {
		calls[e.Kind] += e.ErrorType
	}
	if _, intent := calls[transcript.KindCall]; !intent || calls[transcript.KindResult] != "OutcomeUnknown" {
		t.Errorf("calls and results: %q", calls)
	}
	if code := program.terminate(); code != 0 {
		t.Errorf("stopped by a signal, it ends with %d:\n%s", code, program.log)
	}
}
