package api

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/face/mcpserver"
	"github.com/inquest-dev/inquest/internal/kit/npmtest"
	"github.com/inquest-dev/inquest/internal/trust/webguard"
)

// notForUs lists the scenarios for servers with sessions, which ask clients. Ours keeps no sessions (ADR 27).
var notForUs = map[string][]string{"2025-11-25": {
	"tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums",
	"server-sse-polling", "server-sse-multiple-streams", "resources-subscribe", "resources-unsubscribe",
}}

// The protocol's conformance suite passes for the revisions of its release and for the one without sessions. Our server runs with the
// suite's own tools, resources and prompts added.
func TestConformance(t *testing.T) {
	t.Parallel()
	w := open(t, "system: {}\n")
	handler := w.api.mcpHandler(func(rank int) *mcp.Server {
		server := w.api.mcpTools(config.DecideAsk)(rank)
		addSuite(server)
		return server
	})
	server := httptest.NewServer(webguard.Handler(handler))
	t.Cleanup(server.Close)
	dir := npmtest.Folder(t, "testdata/mcp")
	for revision, suite := range map[string]string{"2025-11-25": "@modelcontextprotocol/conformance", "2026-07-28": "conformance-next"} {
		t.Run(revision, func(t *testing.T) {
			baseline := filepath.Join(t.TempDir(), "baseline.yml") // the suite reports a passing scenario in the baseline as an error
			if err := os.WriteFile(baseline, []byte("server: ["+strings.Join(notForUs[revision], ", ")+"]\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			out := runNode(t, dir, "--import", "./node20.mjs", "node_modules/"+suite+"/dist/index.js", "server", "--url", server.URL+mcpserver.Path,
				"--spec-version", revision, "--suite", "all", "--expected-failures", baseline, "-o", t.TempDir())
			t.Log(out)
		})
	}
}
