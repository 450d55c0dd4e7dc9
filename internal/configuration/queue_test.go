package configuration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

const queuesYAML = `
llm_providers:
  keyed: {type: openai, model: m, api_key_env: KEY}
mcp_servers:
  here: {transport: {command: "{{.HERE}}"}}
  near: {transport: {command: "{{.NEAR}}"}, task_queue: tools.near}
  far: {transport: {command: "{{.FAR}}"}, task_queue: tools.far}
defaults: {llm_provider: keyed}
agents:
  A: {mcp_servers: [here, near, far]}
agent_chains:
  c: {alert_types: [c], stages: [{name: s, agents: [{name: A}]}]}
`

// TestWorkersNeedWhatTheyServe checks that a worker requires only the variables and keys of what it runs, and a client
// all of them.
func TestWorkersNeedWhatTheyServe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(queuesYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	for queue, want := range map[string]string{
		"":                "KEY HERE NEAR FAR",
		plan.MainQueue:    "KEY HERE",
		"tools.near":      "NEAR",
		"tools.far":       "FAR",
		"another.install": "KEY HERE",
	} {
		_, findings := Check(Source{Dir: dir, TaskQueue: queue, Env: func(string) (string, bool) { return "", false }})
		var got []string
		for _, name := range []string{"KEY", "HERE", "NEAR", "FAR"} {
			if findings.Failed() && strings.Contains(findings.Error(), "variable "+name+" is not set") {
				got = append(got, name)
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("queue %q asks for (-want +got):\n%s\n%v", queue, diff, findings)
		}
	}
}

// TestPlanWithServersElsewhere checks that a worker can plan without the variables that other workers need.
func TestPlanWithServersElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(queuesYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"KEY": "k", "HERE": "server"}
	c, err := Load(Source{Dir: dir, TaskQueue: plan.MainQueue, Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Plan(agent.Request{Chain: "c"})
	if err != nil {
		t.Fatal(err)
	}
	queues := map[string]string{}
	for _, s := range p.Stages[0].Agents[0].Servers {
		queues[s.Name] = s.TaskQueue
	}
	if diff := cmp.Diff(map[string]string{"here": "", "near": "tools.near", "far": "tools.far"}, queues); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

// TestTransportByNPX checks the start of a server whose command is in an npm package, depending on the PATH.
func TestTransportByNPX(t *testing.T) {
	t.Parallel()
	installed := t.TempDir()
	if err := os.WriteFile(filepath.Join(installed, "kubernetes-mcp-server"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		installed:      "kubernetes-mcp-server --read-only --toolsets core",
		"testdata/bin": "npx -y kubernetes-mcp-server@0.0.67 --read-only --toolsets core",
		"testdata":     "",
	} {
		c, err := Load(Source{Env: lookupIn(map[string]string{"PATH": path, "INQUEST_EXECUTABLE": "x", "INQUEST_DATA": "x"})})
		if err != nil {
			t.Fatal(err)
		}
		transport, err := c.Transport("kubernetes-server")
		got := strings.TrimSpace(transport.Command + " " + strings.Join(transport.Args, " "))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("with PATH=%s: %q, %v, want %q", path, got, err, want)
		}
		if all := c.ToolPlan().Servers; slices.ContainsFunc(all,
			func(s plan.Server) bool { return s.Name == "kubernetes-server" }) != (path == installed) {
			t.Errorf("with PATH=%s, the tools of all: %+v", path, all)
		}
	}
}
