//go:build unix

package packs

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/doctor"
	"github.com/inquest-dev/inquest/internal/knowledge/pack"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
)

// TestChecks examines each server that starts here as starter doctor does. The health check succeeds in front of the system, and doctor
// reports a failure when another system answers, and when none does.
func TestChecks(t *testing.T) {
	t.Parallel()
	modules := installed(t)
	for _, p := range pack.All() {
		if _, ok := hosted[p.Name]; ok {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			behind := startSystem(t, p)
			transport := start(t, modules, p, behind, true)
			if f := examine(t, p, transport); f.Level != doctor.LevelOK || !strings.HasSuffix(f.Found, "; "+p.Check.Answers) {
				t.Errorf("with the system: %+v", f)
			}
			fails := func(when string) {
				f := examine(t, p, transport)
				// The server of slack does not start without Slack.
				if f.Level != doctor.LevelFail || p.Name != "slack" && (!strings.Contains(f.Found, p.Check.Tool+" failed: ") || f.Remedy == "") {
					t.Errorf("%s: %+v", when, f)
				}
			}
			if behind.replace != nil {
				behind.replace()
				fails("with another system")
			}
			behind.stop()
			fails("without the system")
		})
	}
}

// examine returns what doctor finds about a pack's server.
func examine(t *testing.T, p pack.Pack, transport mcp.Transport) doctor.Finding {
	t.Helper()
	type section = map[string]any
	text, err := json.Marshal(section{ // JSON is YAML
		"mcp_servers": section{p.Name: section{"trust_annotations": true, "transport": section{
			"type": "stdio", "command": transport.Command, "args": transport.Args, "env": transport.Env,
		}}},
		"llm_providers": section{"none": section{"type": "scripted", "model": "none"}},
		"defaults":      section{"llm_provider": "none"},
		"agents":        section{"Reader": section{"mcp_servers": []string{p.Name}}},
		"agent_chains": section{"read": section{
			"alert_types": []string{"any"}, "stages": []section{{"name": "read", "agents": []section{{"name": "Reader"}}}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "inquest.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := configuration.Load(configuration.Source{Dir: path, SkipCredentials: true})
	if err != nil {
		t.Fatal(err)
	}
	toolbox := doctor.NewToolbox(doctor.ToolboxOptions{Config: cfg, Logger: slog.New(slog.DiscardHandler)})
	defer toolbox.Close()
	for _, f := range doctor.Examine(t.Context(), doctor.Examination{
		Temporal: client.Options{HostPort: "127.0.0.1:1"}, Store: store.Options{Path: filepath.Join(dir, "inquest.db")},
		Config: cfg, Toolbox: toolbox, Patience: time.Minute,
	}) {
		if f.What == "server "+p.Name {
			return f
		}
	}
	t.Fatal("doctor does not check the server")
	return doctor.Finding{}
}
