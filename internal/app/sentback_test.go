package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// TestSentBack: whatever the servers of models and of tools answer, the request that goes on with it is one that the
// strictest servers accept: the server of the same model, which is given the state of the reply, and that of another,
// which takes over. The answers are mutated fixtures, of every field; the way from one request to the next is the real
// one, but for the store.
func TestSentBack(t *testing.T) {
	t.Parallel()
	targets := slices.Sorted(maps.Keys(strictTargets))
	for name, tt := range strictTargets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var bodies [][]byte
			for _, folder := range fixtureFolders(tt.provider) {
				bodies = append(bodies, llmtest.Replies(t, folder)...)
			}
			source := newSource(t, tt.provider)
			tools := newRawTools(t)
			clients, servers := map[string]llm.Client{}, map[string]*llmtest.Server{}
			for _, target := range targets {
				servers[target] = llmtest.Start(t, llmtest.Strict(strictTargets[target].target, llmtest.Always(llmtest.Text("Done."))))
				clients[target] = clientOf(t, strictTargets[target].provider, servers[target])
			}
			called := 0
			for seed := range 20 { // with fixed seeds: rapid.Check may happen to draw only replies without calls
				for _, fixture := range bodies {
					body := rapid.Custom(func(t *rapid.T) []byte { return mutatedAnswer(t, fixture) }).Example(seed)
					source.body.Store(&body)
					reply, _ := source.client.Generate(t.Context(), next(tt.provider, nil), nil) // many cannot be read
					called += len(reply.ToolCalls)
				}
			}
			if called == 0 {
				t.Fatal("no reply has a call")
			}
			asked := map[string]int{}
			rapid.Check(t, func(t *rapid.T) {
				log := []transcript.Entry{{Kind: transcript.KindSystem, Body: transcript.Body{Text: "You investigate."}},
					{Kind: transcript.KindUser, Body: transcript.Body{Text: "why?"}}}
				var replies []string
				for n := range rapid.IntRange(1, 3).Draw(t, "replies") {
					iteration := n + 1
					body := mutatedAnswer(t, rapid.SampledFrom(bodies).Draw(t, "fixture"))
					source.body.Store(&body)
					replies = append(replies, string(body))
					reply, err := source.client.Generate(t.Context(), next(tt.provider, log), nil)
					if _, known := errors.AsType[*llm.Error](err); err != nil && !known {
						t.Fatalf("error %v (%T), want an *llm.Error\n%s", err, err, body)
					}
					if err != nil {
						continue
					}
					log = append(log, stepOf(t, iteration, reply, tools)...)
				}
				for _, target := range []string{name, rapid.SampledFrom(targets).Draw(t, "fallback")} {
					req := next(strictTargets[target].provider, log)
					if rapid.Bool().Draw(t, "conclude") {
						req.Tools, req.Withheld = nil, req.Tools
					}
					asked[target]++
					if _, err := clients[target].Generate(t.Context(), req, nil); err != nil {
						shown, _ := json.MarshalIndent(req.Messages, "", " ")
						t.Fatalf("%s: %v\nafter %q\n%s", target, err, replies, shown)
					}
				}
			})
			for target, srv := range servers {
				if refused, most := len(srv.Requests())-asked[target], strictTargets[target].learns; refused > most {
					t.Errorf("%s: %d requests were refused and sent again, want at most %d", target, refused, most)
				}
			}
		})
	}
}

// fixtureFolders are the fixtures of a provider's wire format.
func fixtureFolders(p plan.Provider) []string {
	switch {
	case p.Driver != "":
		return []string{"geminiarray"}
	case p.Responses:
		return []string{"responses"}
	case p.Type == config.ProviderOpenAI:
		return []string{"openai"}
	case p.Type == config.ProviderAnthropic:
		return []string{"anthropic", "vertexclaude"}
	}
	return []string{"gemini"}
}

// source is a model whose server answers with any bytes.
type source struct {
	client llm.Client
	body   atomic.Pointer[[]byte]
}

func newSource(t *testing.T, provider plan.Provider) *source {
	s := &source{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(*s.body.Load())
	}))
	t.Cleanup(srv.Close)
	s.client = clientOf(t, provider, &llmtest.Server{URL: srv.URL, GeminiURL: srv.URL})
	return s
}

// next is the request that goes on with a log, as activities make it.
func next(p plan.Provider, log []transcript.Entry) llm.Request {
	req := llm.Request{Model: p.Model, Messages: transcript.Messages(log), MaxTokens: 1000}
	for i := range req.Messages {
		for n, call := range req.Messages[i].ToolCalls {
			req.Messages[i].ToolCalls[n].Name = tool.WireName(call.Name)
		}
	}
	for n, name := range toolNames[1:] {
		req.Tools = append(req.Tools, llm.Tool{Name: tool.WireName(name), Schema: json.RawMessage(schemas[n])})
	}
	return req
}

// stepOf is a reply, and the results of its calls, as activities write them down.
func stepOf(t *rapid.T, iteration int, reply llm.Response, tools *rawTools) []transcript.Entry {
	said := transcript.Entry{Key: transcript.Key{Iteration: iteration}, Kind: transcript.KindReply, Body: transcript.Body{
		Text: reply.Content, Thinking: reply.Thinking, Reply: transcript.Reply{ProviderState: reply.ProviderState}}}
	out := []transcript.Entry{said}
	for n, call := range reply.ToolCalls[:min(len(reply.ToolCalls), 64)] {
		kept := transcript.Call{ID: fmt.Sprintf("c%d_%d", iteration, n), Name: call.Name, Arguments: call.Arguments}
		out[0].Calls = append(out[0].Calls, kept)
		if rapid.IntRange(0, 3).Draw(t, "answered") > 0 {
			out = append(out, transcript.Entry{Key: transcript.CallKey(iteration, n), Kind: transcript.KindResult,
				Body: transcript.Body{Text: tools.call(t), Call: &kept}})
		}
	}
	return out
}

// rawTools are the tools of an MCP server that sends any result.
type rawTools struct {
	pool   *mcp.Pool
	result atomic.Pointer[string]
}

// rawResults have been sent by one server or another.
var rawResults = []string{
	`{"content":[{"type":"text","text":"called"}]}`,
	`{"content":[{"type":"text","text":""}],"structuredContent":{"id":1915883588174806058,"of":[1,{"a":null}]},"isError":false}`,
	`{"content":[{"type":"resource_link","uri":"file:///a","name":"a"},{"type":"resource","resource":{"uri":"a:b","text":"t"}}]}`,
	`{"content":[{"type":"hologram","depth":3},{"type":"text","text":"bytes \ufffd \u0000"}],"isError":true}`,
	`{"content":[{"type":"audio","data":"AAAA","mimeType":"audio/wav"}],"_meta":{"a":1}}`, `{"content":[]}`, `{}`,
}

func newRawTools(t *testing.T) *rawTools {
	tools := &rawTools{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ID     json.RawMessage
			Method string
			Params struct{ ProtocolVersion string }
		}
		if json.NewDecoder(r.Body).Decode(&request) != nil || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if request.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := `{}`
		switch request.Method {
		case "initialize":
			result = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`,
				request.Params.ProtocolVersion)
		case "tools/call":
			result = *tools.result.Load()
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, result)
	}))
	t.Cleanup(srv.Close)
	tools.pool = mcp.New(mcp.Options{Transport: func(string) (mcp.Transport, error) {
		return mcp.Transport{Type: mcp.HTTP, URL: srv.URL}, nil
	}})
	t.Cleanup(tools.pool.Close)
	return tools
}

// call returns the text of a mutated result.
func (r *rawTools) call(t *rapid.T) string {
	result := mutatedJSON(t, rapid.SampledFrom(rawResults).Draw(t, "result"))
	r.result.Store(&result)
	out, err := r.pool.Call(t.Context(), tool.Call{Name: "s.x", Arguments: json.RawMessage(`{}`), Class: tool.Safe})
	if err != nil {
		return err.Error()
	}
	return out.Content
}
