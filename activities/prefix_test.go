package activities_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	imagepng "image/png"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/anthropic"
	"github.com/inquest-dev/inquest/internal/llm/gemini"
	"github.com/inquest-dev/inquest/internal/llm/geminilegacy"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/llm/openai"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// TestRequestsBeginAlike: each request of an execution begins with at least 95 % of the one before, so that the
// provider's cache has it. Meanwhile memory changes, people send messages, sub-agents end, and the agent is told to
// conclude.
func TestRequestsBeginAlike(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"default", "action", "memgpt_agent", "letta_v1_agent", "react_agent"} {
		for _, talking := range []bool{false, true} {
			for _, wire := range []string{"request", "openai", "responses", "gemini", "anthropic"} {
				name := fmt.Sprintf("%s/%s", typ, wire)
				if talking {
					name += "/conversation"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					alike(t, longRun(t, typ, talking, wire))
				})
			}
		}
	}
}

// longRun returns the prompts of an execution of many requests.
func longRun(t *testing.T, typ string, talking bool, wire string) []string {
	t.Helper()
	row, _ := agent.LookupType(typ)
	o := newOffice(t, row, talking)
	seen := &seen{}
	o.server = llmtest.Start(t, busy)
	o.act.Models = clients(func() (llm.Client, error) {
		if wire != "request" {
			return dial(wire, o.server)
		}
		client, err := dial("openai", o.server)
		seen.Client = client
		return seen, err
	})
	for i, in := range []activities.GenerateIn{
		{Inputs: o.said("What is wrong?")},
		{},
		{Inputs: o.said("Look at the disks.")},
		{Inputs: []activities.Input{{Kind: activities.InputNudge}}},
		{Inputs: []activities.Input{{Kind: activities.InputAwake}, {Kind: activities.InputHeartbeat}}},
		{Inputs: []activities.Input{{Kind: activities.InputRepair, Text: "no JSON"}}},
		{Inputs: []activities.Input{{Kind: activities.InputNotice, Text: "For people."}}},
		{Inputs: []activities.Input{{Kind: activities.InputSubAgent, Sub: &activities.SubEnded{
			Name: "Bo", Execution: "s/Ada/Bo-1", Status: agent.StatusFailed, Error: "lost",
		}}}},
		{Inputs: []activities.Input{{Kind: activities.InputLimit}}, Conclude: true},
	} {
		in.Iteration = i + 1
		o.generate(in)
		o.runCalls(i + 1)
	}
	if wire == "request" {
		return seen.prompts
	}
	var prompts []string
	for _, req := range o.server.Requests() {
		prompts = append(prompts, req.Prompt())
	}
	return prompts
}

// dial opens a client of a wire format.
func dial(wire string, server *llmtest.Server) (llm.Client, error) {
	return dialAs(wire, server, agent.Dialect{})
}

// dialAs is dial for a server with a dialect. The zero value means the usual one.
func dialAs(wire string, server *llmtest.Server, dialect agent.Dialect) (llm.Client, error) {
	opts := llm.Options{Name: "p", BaseURL: server.GeminiURL, APIKey: func() (string, error) { return "key", nil }, Dialect: dialect}
	switch wire {
	case "gemini":
		return gemini.New(opts)
	case "geminilegacy":
		return geminilegacy.New(opts)
	case "anthropic":
		return anthropic.New(opts)
	}
	opts.BaseURL = server.URL
	if wire == "responses" {
		return openai.NewResponses(opts)
	}
	return openai.New(opts)
}

// TestImagesBeginAlike: results with images, and reasoning, also leave the beginning of the next requests unchanged.
func TestImagesBeginAlike(t *testing.T) {
	t.Parallel()
	for wire, model := range map[string]string{
		"openai": "gpt-4o", "responses": "gpt-5.6", "gemini": "gemini-3-pro", "gemini, earlier": "gemini-2.5-pro", "anthropic": "claude-opus-5-5",
	} {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.plan(func(a *plan.Agent) {
				a.MaxIterations, a.Providers = 50, []plan.Provider{{Name: "p", Model: model, Vision: true}}
			})
			b.run = func(call tool.Call) (tool.Result, error) {
				result := tool.Success("a graph of " + string(call.Arguments))
				result.Artifacts = []tool.Artifact{{MIMEType: "image/png", Data: square(t, 40+len(b.calls))}}
				return result, nil
			}
			server := llmtest.Start(t, llmtest.NewSigner().Script(busyWith(2)))
			format, _, _ := strings.Cut(wire, ",")
			b.act.Models = clients(func() (llm.Client, error) { return dial(format, server) })
			for i := range 9 { // two images each: of more than 20, some are dropped
				out, err := b.generate(activities.GenerateIn{Iteration: i + 1})
				if err != nil {
					t.Fatal(err)
				}
				for n := range out.Calls {
					if _, err := b.callTool(i+1, n); err != nil {
						t.Fatal(err)
					}
				}
			}
			var prompts []string
			for _, req := range server.Requests() {
				prompts = append(prompts, req.Prompt())
			}
			alike(t, prompts)
			if last := prompts[8]; strings.Count(last, "iVBORw0KGgo") != 16 { // PNG, in base64
				t.Errorf("the last request has %d images", strings.Count(last, "iVBORw0KGgo"))
			}
		})
	}
}

func square(t *testing.T, edge int) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := imagepng.Encode(&out, image.NewGray(image.Rect(0, 0, edge, edge))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func alike(t *testing.T, prompts []string) {
	t.Helper()
	if len(prompts) != 9 {
		t.Fatalf("%d requests", len(prompts))
	}
	for i, next := range prompts[1:] {
		last := prompts[i]
		if n := llmtest.Shared(last, next); n*100 < len(last)*95 {
			t.Errorf("request %d begins with %d %% of request %d; then it has %q, and before there was %q",
				i+2, n*100/len(last), i+1, from(next, n), from(last, n))
		}
	}
}

func from(text string, n int) string { return text[max(0, n-20):min(len(text), n+100)] }

func busy(req llmtest.Request) llmtest.Reply { return busyWith(1)(req) }

// busyWith makes the model request width tool calls at once, as long as tools are offered, and change its memory.
func busyWith(width int) llmtest.Script {
	return func(req llmtest.Request) llmtest.Reply { return busyReply(req, width) }
}

func busyReply(req llmtest.Request, width int) llmtest.Reply {
	prompt := req.Prompt()
	n := strings.Count(prompt, "Step ")
	var calls []llmtest.Call
	for i := range width {
		calls = append(calls, llmtest.Call{ID: fmt.Sprintf("r%d_%d", n, i), Name: "lab__read", Args: fmt.Sprintf(`{"n":%d}`, n*width+i)})
	}
	if req.Offers(agent.ToolCoreMemoryAppend) && n%2 == 0 {
		args := fmt.Sprintf(`{"label":"facts","content":"fact %d"}`, n)
		calls = append(calls, llmtest.Call{ID: fmt.Sprint("m", n), Name: agent.ToolCoreMemoryAppend, Args: args})
	}
	if strings.Contains(prompt, "Tools are no longer available") {
		return llmtest.Text("Done.")
	}
	return llmtest.Calls(calls...).Text(fmt.Sprintf("Step %d.", n))
}

// clients makes the client of every provider.
type clients func() (llm.Client, error)

func (c clients) Client(plan.Provider, plan.Timeouts) (llm.Client, error) { return c() }

// seen keeps the requests as drivers receive them.
type seen struct {
	llm.Client
	mu      sync.Mutex
	prompts []string
}

func (s *seen) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	var prompt strings.Builder
	enc := json.NewEncoder(&prompt)
	_ = enc.Encode(slices.Concat(req.Tools, req.Withheld))
	for _, m := range req.Messages {
		_ = enc.Encode(m)
	}
	s.mu.Lock()
	s.prompts = append(s.prompts, prompt.String())
	s.mu.Unlock()
	return s.Client.Generate(ctx, req, onDelta)
}

// TestOnlyLoopsAreKept: an agent that makes many requests names the conversation they belong to. A single request is not
// written into the provider's cache, because that costs money.
func TestOnlyLoopsAreKept(t *testing.T) {
	t.Parallel()
	for typ, want := range map[string]string{"default": "inv/s/A", "react_agent": "inv/s/A", "synthesis": "", "llm": "", "scoring": ""} {
		b := newBench(t)
		b.plan(func(a *plan.Agent) { a.Type = typ })
		if _, err := b.generate(activities.GenerateIn{Iteration: 1}); err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		if got := b.requests[0].Conversation; got != want {
			t.Errorf("%s: %q, want %q", typ, got, want)
		}
	}
}

// TestCacheIsRead: an agent with 40 iterations reads most of its input from the provider's cache, even if its
// conversation is compressed, and if it makes many calls at once.
func TestCacheIsRead(t *testing.T) {
	t.Parallel()
	openAICache := func(s llmtest.Script) llmtest.Script { return llmtest.NewPromptCache(1024, 128).Script(s) }
	breakpoints := func(s llmtest.Script) llmtest.Script { return llmtest.NewBreakpointCache().Script(s) }
	claudeCache := func(s llmtest.Script) llmtest.Script { return llmtest.NewClaudeCache().Script(s) }
	for name, p := range map[string]struct {
		model    string
		caching  func(llmtest.Script) llmtest.Script
		wire     string
		thinking agent.Thinking
	}{
		"openai":                        {"gpt-4o", openAICache, "openai", agent.Thinking{}},
		"responses":                     {"gpt-5", openAICache, "responses", agent.Thinking{}},
		"responses, by breakpoints":     {"gpt-5.6", breakpoints, "responses", agent.Thinking{}},
		"anthropic":                     {"claude-sonnet-4-6", claudeCache, "anthropic", agent.Thinking{Mode: agent.ThinkingAdaptive}},
		"anthropic, long prompts alone": {"claude-haiku-4-5", claudeCache, "anthropic", agent.Thinking{Mode: agent.ThinkingOn}},
	} {
		for kind, shape := range map[string]struct{ window, calls, lines int }{
			"whole": {0, 1, 60}, "compressed": {80_000, 1, 240}, "many calls at once": {0, 12, 5},
		} {
			if shape.calls > 1 && !strings.HasPrefix(name, "anthropic") {
				continue // only this format counts blocks
			}
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.run = func(call tool.Call) (tool.Result, error) {
					return tool.Success(strings.Repeat("a line of a log about "+string(call.Arguments)+"\n", shape.lines)), nil
				}
				b.plan(func(a *plan.Agent) {
					a.MaxIterations, a.Compression.MaxContextTokens = 50, shape.window
					a.Instructions = strings.Repeat("Look at the pool first. ", 20)
					a.Providers = []plan.Provider{{Name: "p", Model: p.model, Thinking: p.thinking}}
				})
				signer := llmtest.NewSigner() // reasoning must come back unchanged
				server := llmtest.Start(t, p.caching(signer.Script(busyWith(shape.calls))))
				b.act.Models = clients(func() (llm.Client, error) { return dial(p.wire, server) })
				var sum agent.Usage
				for i := range 40 {
					in := activities.GenerateIn{Iteration: i + 1, Conclude: i == 39}
					if in.Conclude {
						in.Inputs = []activities.Input{{Kind: activities.InputLimit}}
					}
					out, err := b.generate(in)
					if err != nil {
						t.Fatal(err)
					}
					for n := range out.Calls {
						if _, err := b.callTool(i+1, n); err != nil {
							t.Fatal(err)
						}
					}
					sum = sum.Add(out.Usage)
				}
				t.Logf("%d of %d tokens come from the cache: %d %%", sum.CacheReadTokens, sum.InputTokens, sum.CacheReadTokens*100/sum.InputTokens)
				if sum.CacheReadTokens*100 < sum.InputTokens*80 {
					t.Error("that is not enough")
				}
				if name != "openai" && signer.Returned() < 40 {
					t.Errorf("%d thoughts came back", signer.Returned())
				}
			})
		}
	}
}
