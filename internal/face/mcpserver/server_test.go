package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// running is a system in which every investigation is running and nothing needs people.
type running struct{}

func (running) Call(_ context.Context, row system.Operation, in, out any) error {
	switch out := out.(type) {
	case *system.Whole:
		out.Investigation.ID, out.Investigation.Status = in.(system.ByID).ID, agent.StatusRunning
	case *system.Page[system.Thing]:
	default:
		return errors.New("not expected: " + row.Name)
	}
	return nil
}

// offered returns the server's tools for clients with a role, and a session with it.
func offered(t *testing.T, tools *Tools, role string) (map[string]*mcp.Tool, *mcp.ClientSession) {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	server := tools.For(func(needed string) bool { return needed == role || role == "" }, config.DecideAsk)
	if _, err := server.Connect(t.Context(), here, nil); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*mcp.Tool{}
	for _, tool := range listed.Tools {
		out[tool.Name] = tool
	}
	return out, session
}

func newTools() *Tools {
	return New(Options{
		Operations: running{}, SchemaName: huma.DefaultSchemaNamer, Logger: slog.New(slog.DiscardHandler),
		Explain: func(_ context.Context, _ string, err error) error { return err },
		May:     func(context.Context, string, string) error { return nil },
	})
}

// Every tool runs operations whose rows name it, and is offered to the role of the row. Every row that names a tool has it.
func TestToolsAreOperations(t *testing.T) {
	t.Parallel()
	tools := newTools()
	all, _ := offered(t, tools, "")
	for _, o := range system.Operations() {
		if o.Tool == "" {
			continue
		}
		if mine, _ := offered(t, tools, o.Role); mine[o.Tool] == nil {
			t.Errorf("%s: the role %s has no tool %s", o.Name, o.Role, o.Tool)
		}
	}
	for name := range all {
		if !slices.ContainsFunc(system.Operations(), func(o system.Operation) bool { return o.Tool == name }) {
			t.Errorf("no operation names the tool %s", name)
		}
	}
}

// A waiting call takes a slot. If all slots are taken, the response comes at once.
func TestWaitsAreBounded(t *testing.T) {
	t.Parallel()
	tools := newTools()
	for range maxWaiting {
		tools.waiting <- struct{}{}
	}
	_, session := offered(t, tools, "")
	params := &mcp.CallToolParams{Name: "get_investigation", Arguments: map[string]any{"id": "slow", "wait": 600}}
	out, err := session.CallTool(t.Context(), params)
	if err != nil || out.IsError || !strings.Contains(out.StructuredContent.(map[string]any)["next"].(string), "Too many calls") {
		t.Errorf("%+v, %v", out, err)
	}
}

// Evidence and claims come in pages, and each is on exactly one page.
func TestEvidencePages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ items, claims, pages int }{{0, 0, 1}, {1, 60, 3}, {51, 2, 3}, {25, 25, 1}} {
		e := evidence.Evidence{Items: make([]evidence.Item, tt.items), Claims: make([]evidence.Claim, tt.claims), Uncited: 1}
		items, claims, pages, uncited := 0, 0, 0, 0
		for after := 0; ; {
			out := evidencePage(e, after)
			items, claims, pages, uncited = items+len(out.Items), claims+len(out.Claims), pages+1, uncited+out.Uncited
			if after = out.Next; after == 0 {
				break
			}
		}
		if items != tt.items || claims != tt.claims || pages != tt.pages || uncited != 1 {
			t.Errorf("%+v: %d pieces, %d claims on %d pages, uncited %d", tt, items, claims, pages, uncited)
		}
	}
	if out := evidencePage(evidence.Evidence{}, 1000); out.Items == nil || out.Next != 0 {
		t.Errorf("beyond the end: %+v", out)
	}
}
