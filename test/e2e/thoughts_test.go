package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// TestKillBetweenThoughts kills a worker between two turns of an agent whose model signs its thoughts. The
// provider rejects thoughts that were changed, so the new process must send the thoughts of all earlier turns
// back exactly as they were signed.
func TestKillBetweenThoughts(t *testing.T) {
	t.Parallel()
	for name, provider := range map[string]string{
		"anthropic": `{type: anthropic, model: claude-sonnet-4-5, thinking: "on", base_url: "{{.E2E_GEMINI}}", api_key_env: E2E_KEY}`,
		"responses": `{type: openai, model: gpt-5-lab, api: responses, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, signer := newScript(), llmtest.NewSigner()
			l.heldAt = "Alpha 3"
			const asked = `{type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}`
			config := strings.Replace(labConfig, asked, provider, 1)
			if name == "anthropic" {
				config = strings.Replace(config, "defaults:\n", "defaults:\n  llm_backend: native-gemini\n", 1)
			}
			w := newWorld(t, signer.Script(l.script()), config)
			w.dev("--no-worker")
			victim := w.worker()
			id := workflows.InvestigationID("lab", w.begin("lab").GetRunID())
			l.hold.Wait(t)
			w.until(id, func(e transcript.Entry) bool { return e.Text == "beta knows five" })
			before := signer.Returned()
			victim.kill()
			l.hold.Release()
			w.worker()
			if result := w.end("lab"); result.Status != agent.StatusCompleted || result.Report != "the report of gamma" {
				t.Errorf("result after the kill: %+v", result)
			}
			var alpha []string // number of thoughts that each of Alpha's requests returned
			for _, req := range w.model.Requests() {
				signed := 0
				for _, m := range req.Messages {
					if m.Role == string(agent.Assistant) && m.Signature == "" {
						t.Errorf("%s: a turn came back without its thoughts", who(req))
					}
					if m.Signature != "" {
						signed++
					}
				}
				if who(req) == "Alpha" {
					alpha = append(alpha, fmt.Sprint(signed))
				}
			}
			if want := []string{"0", "1", "2", "2"}; !slices.Equal(alpha, want) || signer.Returned() <= before {
				t.Errorf("Alpha's requests gave %v thoughts back, want %v", alpha, want)
			}
		})
	}
}

// thinkers are providers whose models sign or encrypt their thoughts, each with its backend.
var thinkers = map[string]struct{ provider, model, backend string }{
	"claude": {`{type: anthropic, model: claude-sonnet-4-5, thinking: "on", base_url: "{{.E2E_GEMINI}}", api_key_env: E2E_KEY}`,
		"claude-sonnet-4-5", "native"},
	"gpt": {`{type: openai, model: gpt-5, api: responses, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}`, "gpt-5", "langchain"},
	"gemini": {`{type: google, model: gemini-3-pro-preview, base_url: "{{.E2E_GEMINI}}", api_key_env: E2E_KEY}`,
		"gemini-3-pro-preview", "native"},
}

// TestThoughtsComeBack moves a conversation with a model that signs its thoughts to another provider's model
// and back, kills its worker during a turn, and compresses it. Each provider rejects foreign signatures and
// changed thoughts. Every reply of a model that a request contains must include its thoughts.
func TestThoughtsComeBack(t *testing.T) {
	t.Parallel()
	for first, second := range map[string]string{"claude": "gpt", "gpt": "gemini", "gemini": "claude"} {
		t.Run(first+" and "+second, func(t *testing.T) {
			t.Parallel()
			p, q := thinkers[first], thinkers[second]
			signers := map[string]*llmtest.Signer{p.model: llmtest.NewSigner(), q.model: llmtest.NewSigner()}
			m := minds{first: p.model, hold: llmtest.NewHold(), signers: signers}
			w := newWorld(t, m.script, fmt.Sprintf(`
llm_providers: {first: %s, second: %s}
mcp_servers: {lab: {transport: {type: stdio, command: "{{.E2E_TOOLS}}"}}}
defaults:
  llm_provider: first
  llm_backend: %s
  fallback_providers: [{provider: second, backend: %s}]
  compression: {max_context_tokens: 8000}
agents: {Memo: {mcp_servers: [lab]}}
agent_chains: {watch: {alert_types: [watch], stages: [{name: dig, agents: [{name: Memo}]}]}}
`, p.provider, q.provider, p.backend, q.backend))
			w.dev("--no-worker")
			worker := w.worker()
			w.send("Memo", "one", "look at the disk")
			w.send("Memo", "one", "leave, and look at the net")
			w.send("Memo", "one", "look again")
			stop := w.sendUpdate("one", "held", "hold, after a look")
			m.hold.Wait(t)
			worker.kill()
			w.worker()
			m.hold.Release()
			held := client.GetWorkflowUpdateHandleOptions{WorkflowID: "one", UpdateID: "held"}
			if err := w.client().GetWorkflowUpdateHandle(held).Get(w.context(), nil); err != nil {
				t.Fatal(err)
			}
			stop()
			for n := range 3 { // long enough to be compressed more than once
				w.send("Memo", "one", fmt.Sprintf("look at %d: %s", n, strings.Repeat(fmt.Sprintf("line %d of a log, ", n), 90)))
			}
			w.send("Memo", "one", "leave, and look once more")
			w.send("Memo", "one", "look for the last time")
			m.check(t, w.model.Requests())
		})
	}
}

// minds are the two models.
type minds struct {
	first   string
	hold    *llmtest.Hold
	signers map[string]*llmtest.Signer
}

// script makes a model call a tool and report the result. The first model refuses a request to leave.
func (m minds) script(req llmtest.Request) llmtest.Reply {
	return m.signers[req.Model].Script(func(req llmtest.Request) llmtest.Reply {
		switch asked := said(req); {
		case strings.HasPrefix(asked, "leave") && req.Model == m.first:
			return llmtest.Refuse(http.StatusBadRequest, "invalid_request_error", "not that")
		case req.Last().Role != "tool":
			args, _ := json.Marshal(map[string]string{"text": asked})
			return llmtest.Calls(llmtest.Call{ID: "call_1", Name: "lab__echo", Args: string(args)}).Text(req.Model + " looks.")
		case strings.HasPrefix(asked, "hold"):
			return llmtest.Text(req.Model+" saw it.").Chunked(4, 0).Hold(m.hold, 1)
		}
		return llmtest.Text(req.Model + " saw it.")
	})(req)
}

// check examines which of its own replies, and of the other model's, each model received.
func (m minds) check(t *testing.T, requests []llmtest.Request) {
	t.Helper()
	shown, most, back := map[string]int{}, 0, 0 // replies with thoughts, most messages, requests after some were left out
	for n, req := range requests {
		for _, said := range req.Messages {
			if said.Role != "assistant" {
				continue
			}
			own := strings.HasPrefix(said.Text(), req.Model)
			if own != (said.Signature != "" && said.Signature != unsigned) {
				t.Errorf("request %d, to %s, has %q with signature %q", n+1, req.Model, said.Text(), said.Signature)
			}
			if own {
				shown[req.Model]++
			}
		}
		if compressed := strings.Contains(string(req.Body), "Previous conversation summary"); compressed && req.Model == m.first {
			back++
		}
		most = max(most, len(req.Messages))
	}
	for model, signer := range m.signers {
		if shown[model] == 0 || signer.Returned() < shown[model] {
			t.Errorf("%s was shown %d replies of its own with %d thoughts", model, shown[model], signer.Returned())
		}
	}
	if last := len(requests[len(requests)-1].Messages); back == 0 || last >= most {
		t.Errorf("%d requests of a compressed conversation; the last has %d messages of at most %d", back, last, most)
	}
}

// unsigned is the base64 value that Gemini receives in place of a missing signature.
const unsigned = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
