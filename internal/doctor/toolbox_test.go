package doctor

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
)

// TestServerThatListsAPart checks that the tools of an incomplete list are there, and that people read why it is incomplete.
func TestServerThatListsAPart(t *testing.T) {
	t.Parallel()
	const page = `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"plain","inputSchema":{"type":"object"}}],"nextCursor":"8"}}`
	path := filepath.Join(t.TempDir(), "inquest.yaml")
	text := fmt.Sprintf("mcp_servers: {lab: {transport: {type: http, url: %q}}}\n", tooltest.Script{"tools/list": page}.Serve(t, false))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := configuration.Load(configuration.Source{Dir: path, SkipCredentials: true})
	if err != nil {
		t.Fatal(err)
	}
	toolbox := NewToolbox(ToolboxOptions{Config: cfg, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(toolbox.Close)
	const want = "MCP server lab may have more tools than it lists: the pages of its list of tools repeat."
	tools, troubles, err := toolbox.List(t.Context(), "", "mcp")
	if err != nil || len(tools) != 1 || !strings.Contains(fmt.Sprint(troubles), want) {
		t.Errorf("%d tools, troubles %v, %v", len(tools), troubles, err)
	}
	found := Examination{Config: cfg, Toolbox: toolbox}.server(t.Context(), plan.Server{Name: "lab"})
	if found.Level != LevelWarn || !strings.HasPrefix(found.Found, "1 tool; "+want) {
		t.Errorf("found %+v", found)
	}
}
