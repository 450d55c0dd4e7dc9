package e2e

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/transcript"
)

const troubleConfig = `
llm_providers:
  busy: {type: openai, model: busy-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
  closed: {type: openai, model: closed-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
  locked: {type: openai, model: locked-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
agents:
  Solo: {description: looks}
agent_chains:
  busy: {alert_types: [busy], llm_provider: busy, stages: [{name: dig, agents: [{name: Solo}]}]}
  nobody: {alert_types: [nobody], llm_provider: closed, fallback_providers: [{provider: locked}],
           stages: [{name: dig, agents: [{name: Solo}]}]}
`

// TestProviderTrouble checks that watchers, on a terminal and in a pipe, see that the system waits for a
// provider, and that the failure of all providers is recorded. The worker logs one line when a conversation's calls
// begin to fail and one when the model replies, and none for errors in user input.
func TestProviderTrouble(t *testing.T) {
	t.Parallel()
	var busy atomic.Int32
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		switch {
		case req.Model != "busy-1":
			return llmtest.Status(401, `{"error":{"message":"bad key"}}`)
		case busy.Add(1) <= 2:
			return llmtest.RateLimited(6 * time.Second)
		}
		return llmtest.Text("the pool is too small")
	}, troubleConfig)
	dev := w.dev()
	screen := w.terminal("run", "--plain", "--chain", "busy", "--data", "x", "--workflow-id", "busy")
	screen.says(1, "investigation busy:")
	pipe := w.start("── dig", "starter", "watch", "busy")
	for _, p := range []*process{pipe, screen.process} {
		p.says(1, "busy is responding again")
		if code := p.wait(); code != 0 {
			t.Errorf("exit code %d:\n%s", code, p.log)
		}
	}
	line := regexp.MustCompile(`(?m)^! dig/Solo is waiting for busy: rate limited \(HTTP 429\).*, since .* UTC, ` +
		`([12]) failed attempts?, next at .*, gives up at .*, no fallback$`)
	if said := line.FindAllStringSubmatch(pipe.log.String(), -1); len(said) != 2 || said[0][1] != "1" || said[1][1] != "2" {
		t.Errorf("the pipe was told\n%s", pipe.log)
	}
	if text := screen.log.String(); strings.Count(text, "\r\x1b[K! attempt 2 in ") < 3 || strings.Count(text, "\r\x1b[K! attempt 3 in ") < 3 {
		t.Errorf("the terminal was told\n%q", text)
	}
	w.mustFail(1, "locked: credentials refused", "run", "--chain", "nobody", "--data", "x", "--workflow-id", "nobody")
	w.mustFail(2, `unknown chain "nope"`, "run", "--chain", "nope", "--data", "x")
	log := dev.log.String()
	if strings.Contains(log, "level=ERROR") || strings.Count(log, `"a model call failed"`) != 3 ||
		strings.Contains(log, "different conversations") || strings.Count(log, `"a model replied after failed calls"`) != 1 {
		t.Errorf("the worker's log:\n%s", log)
	}
	var kept struct{ Entries []transcript.Entry }
	if err := json.Unmarshal([]byte(w.must("show", "nobody", "--json")), &kept); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range kept.Entries {
		kinds = append(kinds, string(e.Kind))
	}
	if got := strings.Join(kinds, " "); got != "try fallback try system user notice" {
		t.Errorf("kept of what nobody answered: %s", got)
	}
	if shown := w.must("show", "nobody"); !strings.Contains(shown, "closed: credentials refused") ||
		!strings.Contains(shown, "locked-1 takes over") ||
		!strings.Contains(shown, "No model has answered this call: locked: credentials refused") {
		t.Errorf("shown:\n%s", shown)
	}
}
