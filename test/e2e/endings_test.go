package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
	"github.com/inquest-dev/inquest/internal/transcript"
)

const endingsConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
defaults: {llm_provider: lab-model}
agents: {First: {type: react}, Second: {type: react}, Refused: {type: react}}
agent_chains:
  long: {alert_types: [long], stages: [{name: first, agents: [{name: First}]}, {name: second, agents: [{name: Second}]}]}
  failing: {alert_types: [failing], stages: [{name: first, agents: [{name: First}]}, {name: second, agents: [{name: Refused}]}]}
`

// The last available result stays the report, however the investigation ends. (For time limits, see
// TestEndsThatKeepWhatWasDone.)
func TestReportIsKept(t *testing.T) {
	t.Parallel()
	hold := llmtest.NewHold()
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		switch who(req) {
		case "First":
			return llmtest.Text("It is the pool.")
		case "Refused":
			return llmtest.BadKey()
		}
		return llmtest.Text("never said").Hold(hold, 0)
	}, endingsConfig)
	w.dev()
	for chain, want := range map[string]struct {
		status agent.Status
		reason agent.EndReason
	}{
		"long":    {agent.StatusCancelled, agent.EndCancelled},
		"failing": {agent.StatusFailed, agent.EndLLMFailed},
	} {
		w.beginWith(chain, agent.Request{Chain: chain, Data: json.RawMessage(`"x"`)})
		if chain == "long" {
			hold.Wait(t)
			w.must("cancel", chain)
		}
		var shown struct{ Investigation record.Investigation }
		eventually(t, chain+" has ended", func() bool {
			if err := json.Unmarshal([]byte(w.must("show", chain, "--json")), &shown); err != nil {
				t.Fatal(err)
			}
			return shown.Investigation.EndedAt != nil
		})
		r := shown.Investigation
		if r.Status != want.status || r.EndReason != want.reason || r.Report != "It is the pool." {
			t.Errorf("%s ended as %s, %s; its report is %q", chain, r.Status, r.EndReason, r.Report)
		}
	}
}

// TestSessionTimeoutEndsAHungRun checks that a model that never answers cannot keep an investigation beyond its time limit
// and the time to conclude, which is never longer than the limit.
func TestSessionTimeoutEndsAHungRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, llmtest.Always(llmtest.Text("never said").Hold(llmtest.NewHold(), 0)), endingsConfig+`
queue: {session_timeout: 5s}
`)
	w.dev()
	w.beginWith("hung", agent.Request{Chain: "long", Data: json.RawMessage(`"x"`)})
	var shown struct{ Investigation record.Investigation }
	eventually(t, "it has ended", func() bool {
		if err := json.Unmarshal([]byte(w.must("show", "hung", "--json")), &shown); err != nil {
			t.Fatal(err)
		}
		return shown.Investigation.EndedAt != nil
	})
	r := shown.Investigation
	// The limit is 5 s plus 5 s to conclude. With two minutes to conclude it would be 125 s.
	if took := r.EndedAt.Sub(r.StartedAt); r.Status != agent.StatusTimedOut || took < 9*time.Second || took > time.Minute {
		t.Errorf("ended as %s after %s", r.Status, took)
	}
}

// TestReportNamesUnknownWrites cancels an investigation during a call to a non-repeatable tool. Its outcome is
// unknown, and the report, show and the API say so.
func TestReportNamesUnknownWrites(t *testing.T) {
	t.Parallel()
	gate := tooltest.NewGate(t)
	w, _ := newLab(t, func(l *lab) { l.gates["counter"] = gate.Path })
	api := freeAddress(t)
	w.dev("--http", api)
	w.begin("lab")
	gate.Wait(t)
	w.must("cancel", "lab")
	type shown struct {
		Investigation record.Investigation
		UnknownCalls  []transcript.UnknownCall `json:"unknown_calls"`
	}
	read := func(args ...string) (s shown) {
		if err := json.Unmarshal([]byte(w.must(args...)), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	eventually(t, "it has ended", func() bool { return read("show", "lab", "--json").Investigation.EndedAt != nil })
	for _, where := range [][]string{nil, {"--server", "http://" + api}} {
		calls := read(append([]string{"show", "lab", "--json"}, where...)...).UnknownCalls
		if len(calls) != 1 || calls[0].Tool != "lab.counter" || !calls[0].NoResult || calls[0].At.IsZero() {
			t.Errorf("show %v: %+v", where, calls)
		}
		if text := w.must(append([]string{"report", "lab"}, where...)...); !strings.Contains(text, "**Outcome unknown:**") ||
			!strings.Contains(text, "`lab.counter`") {
			t.Errorf("report %v:\n%s", where, text)
		}
	}
}
