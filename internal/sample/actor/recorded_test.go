package actor

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/pack"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/sample"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

var (
	numbers = regexp.MustCompile(`\d+(?:[.:]\d+)*`)
	quoted  = regexp.MustCompile("`([^`]+)`")
	ordinal = regexp.MustCompile(`(?m)^\d+\. `)
)

// TestRecordedDemos plays the demo of every pack over MCP. It calls only tools of the pack, more than one, and the report has no number
// and no quotation that is neither in the alert nor in an answer.
func TestRecordedDemos(t *testing.T) {
	t.Parallel()
	for _, p := range pack.All() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			demo, ok := p.Demo()
			if !ok || demo.Source == "" || demo.Alert == "" || demo.Report == "" || len(demo.Calls) < 2 {
				t.Fatalf("the pack has no complete demo: %+v", demo)
			}
			session := connectTo(t, sample.NewPackServer(p, demo))
			messages, known := []agent.Message{{Role: agent.User, Content: demo.Alert}}, demo.Alert
			reply := Recorded(demo)
			var tools []llm.Tool
			for _, name := range p.Tools {
				tools = append(tools, llm.Tool{Name: p.Name + "__" + name})
			}
			var final string
			for range len(demo.Calls) + 1 {
				res := reply(llm.Request{Messages: messages, Tools: tools})
				if len(res.ToolCalls) == 0 {
					final = res.Content
					break
				}
				call := res.ToolCalls[0]
				name := strings.TrimPrefix(call.Name, p.Name+"__")
				if !slices.Contains(p.Tools, name) || res.Content == "" {
					t.Errorf("%s is no tool of the pack, or nothing says why it is called: %q", name, res.Content)
				}
				text := answerOf(t, session, name, call.Arguments)
				if mask.Shown(t.Context(), text) != text {
					t.Errorf("the answer of %s has something that is masked: %s", name, text)
				}
				known += "\n" + call.Arguments + "\n" + text
				messages = append(messages, agent.Message{Role: agent.Assistant, ToolCalls: res.ToolCalls},
					agent.Message{Role: agent.ToolRole, ToolCallID: call.ID, Content: "# Result\n" + text + "\n"})
			}
			if !strings.HasPrefix(final, strings.TrimSpace(demo.Report)) || !strings.Contains(final, demo.Origin()) {
				t.Fatalf("the report is %q", final)
			}
			if words := strings.Fields(demo.Origin()); len(slices.Compact(slices.Clone(words))) != len(words) {
				t.Errorf("%q has a word twice", words)
			}
			if strings.Contains(final, "invented, not recorded") != demo.Invented || p.URL != "" && !demo.Invented {
				t.Errorf("invented: %t, and the report says: %s", demo.Invented, demo.Origin())
			}
			for _, n := range numbers.FindAllString(ordinal.ReplaceAllString(demo.Report, ""), -1) {
				if !strings.Contains(known, n) {
					t.Errorf("the number %s of the report is in no answer", n)
				}
			}
			for _, q := range quoted.FindAllStringSubmatch(demo.Report, -1) {
				if !strings.Contains(strings.ReplaceAll(known, `\"`, `"`), q[1]) {
					t.Errorf("%q of the report is in no answer", q[1])
				}
			}
		})
	}
}

// TestDemoRefuses: the server refuses a call that the demo does not have, and the model does not report without the demo's answer.
func TestDemoRefuses(t *testing.T) {
	t.Parallel()
	p, _ := pack.Named("prometheus")
	demo, _ := p.Demo()
	result, err := connectTo(t, sample.NewPackServer(p, demo)).CallTool(t.Context(),
		&mcp.CallToolParams{Name: demo.Calls[0].Tool, Arguments: map[string]any{"query": "vector(1)"}})
	if err != nil || !result.IsError || !strings.Contains(result.Content[0].(*mcp.TextContent).Text, demo.Calls[0].Arguments) {
		t.Errorf("%+v, %v", result, err)
	}
	messages := []agent.Message{{Role: agent.ToolRole, Content: "something else"}}
	if got := Recorded(demo)(llm.Request{Messages: messages}); !strings.Contains(got.Content, "did not return the demo's answer") {
		t.Errorf("the model said %q", got.Content)
	}
	if got := Recorded(demo)(llm.Request{}); !strings.Contains(got.Content, "has no tool "+demo.Calls[0].Tool) {
		t.Errorf("without tools, the model said %q", got.Content)
	}
}

// answerOf returns the text of a tool's answer, which must be a success.
func answerOf(t *testing.T, session *mcp.ClientSession, name, arguments string) string {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil || result.IsError || len(result.Content) != 1 {
		t.Fatalf("%s: %+v, %v", name, result, err)
	}
	return result.Content[0].(*mcp.TextContent).Text
}
