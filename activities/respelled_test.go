package activities_test

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// An argument that violates the schema only by its spelling is sent in the schema's spelling. The transcript and the
// model are told, and the reply keeps the model's spelling.
func TestRespelledArguments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.asks(agent.ToolCall{ID: "x", Name: "lab__read", Arguments: `{"n":"5"}`})
	if _, err := b.callTool(1, 0); err != nil {
		t.Fatal(err)
	}
	if len(b.calls) != 1 || string(b.calls[0].Arguments) != `{"n":5}` {
		t.Fatalf("called with %+v", b.calls)
	}
	const said = "[Arguments were converted to match the schema: n as a number.]"
	if last := b.last(); last.Kind != transcript.KindResult || last.Call.Respelled != said || last.Call.Arguments != `{"n":"5"}` {
		t.Errorf("the transcript says %+v", last.Call)
	}
	b.reply = asking()
	if _, err := b.generate(activities.GenerateIn{Iteration: 2}); err != nil {
		t.Fatal(err)
	}
	sent := b.requests[len(b.requests)-1].Messages
	if result := sent[len(sent)-1]; result.Role != agent.ToolRole || !strings.HasPrefix(result.Content, said+"\n") {
		t.Errorf("the model is told %+v", result)
	}
}
