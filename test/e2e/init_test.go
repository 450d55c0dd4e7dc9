package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/pack"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// prose contains final replies in the styles of real models. Each has a cause, a confidence and a next step.
var prose = []llmtest.Reply{
	llmtest.Text("## Root cause\n\nThe disk of db-1 is full.\n\n## Confidence\n\nhigh\n\n## Next steps\n\n1. Grow the volume.\n"),
	llmtest.Text("**Root cause:** The disk of db-1 is full.\n\n**Confidence:** high\n\n**Next steps:**\n\n- Grow the volume.").
		Thinking("Let me weigh it."),
	llmtest.Text("```markdown\n# Root cause\nThe disk of db-1 is full.\n\n# Confidence\nhigh\n\n# Next steps\n- Grow the volume.\n```"),
	llmtest.Text("```json\n{\"root_cause\": \"The disk of db-1 is full.\", \"confidence\": \"high\", " +
		"\"next_steps\": [\"Grow the volume.\"]}\n```"),
	llmtest.Text("db-1 stopped.\n\n**Root cause**: The disk of db-1 is full. Confidence: high (df).\n\n**Next steps**\n1. Grow the volume."),
}

// realistic answers as real models do: agents with tools call one first, planners and critics embed their JSON
// in prose and fences, and all other agents write prose.
func realistic(req llmtest.Request) llmtest.Reply {
	switch name := who(req); {
	case strings.HasPrefix(name, "Planner"):
		return llmtest.Text("Here is the plan:\n\n```json\n{\"services\": [\"checkout\"]}\n```\n")
	case strings.HasPrefix(name, "Critic"):
		return llmtest.Text("The evidence explains it.\n\n```json\n{\"outcome\": \"done\", " +
			"\"verdict\": \"enough\", \"cause\": \"The disk of db-1 is full.\"}\n```\n")
	case len(req.Tools) > 0 && turnOf(req) == 1:
		return llmtest.Calls(llmtest.Call{Name: req.Tools[0].Function.Name, Args: `{"text":"hello"}`}).Text("I look first.")
	default:
		return prose[len(name)%len(prose)]
	}
}

// TestInitRunsToTheEnd runs every configuration that `starter init` writes, and the examples that need a model,
// to completion. A test server provides their tools, and the model replies as real models do.
func TestInitRunsToTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realistic, labConfig)
	all := map[string]map[string]any{}
	var chains []string
	add := func(name, path string) {
		chains = append(chains, addConfig(t, all, name, path)...)
	}
	flags := [][]string{{"--kubernetes"}, {"--prometheus", "http://localhost:9090"}, {"--loki", "http://localhost:3000"}, {"--github"}}
	for n := range 1 << len(flags) {
		dir := filepath.Join(t.TempDir(), "init")
		args := []string{"init", dir, "--yes", "--provider", "openai:gpt-4o-mini"}
		for bit, flag := range flags {
			if n&(1<<bit) != 0 {
				args = append(args, flag...)
			}
		}
		w.must(args...)
		add(fmt.Sprintf("init%d", n), filepath.Join(dir, "inquest.yaml"))
	}
	every := filepath.Join(t.TempDir(), "packs")
	w.must("init", every, "--yes", "--provider", "openai:gpt-4o-mini", "--pack", strings.Join(pack.Names(), ","))
	add("initpacks", filepath.Join(every, "inquest.yaml"))
	add("kind", "../../examples/kind/inquest.yaml")
	add("kindscripted", "../../examples/kind-scripted/inquest.yaml")
	add("critique", "../../examples/plan-execute-critique/inquest.yaml")
	whole, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	w.configure(string(whole))
	w.dev()
	for _, chain := range chains {
		w.must("run", "--detach", "--chain", chain, "--data", "db-1 is slow", "--workflow-id", chain)
	}
	for _, chain := range chains {
		t.Run(chain, func(t *testing.T) {
			w := w.in(t)
			if got := w.ended(chain); got.Status != agent.StatusCompleted || got.EndReason != agent.EndCompleted {
				t.Errorf("it is %s (%s): %s", got.Status, got.EndReason, got.Error)
			}
			report := w.must("report", chain)
			for _, want := range []string{"Cause", "The disk of db-1 is full.", "Confidence", "high", "Grow the volume."} {
				if strings.HasPrefix(chain, "critique") && want != "The disk of db-1 is full." && want != "Cause" {
					continue // its last stage adds no text
				}
				if !strings.Contains(report, want) {
					t.Errorf("the report lacks %q:\n%s", want, report)
				}
			}
			if strings.Contains(report, `{"`) {
				t.Errorf("the report is raw JSON:\n%s", report)
			}
		})
	}
}

// addConfig adds a configuration to others and returns the names of its chains. Agents and chains get unique
// names, the world's model is the provider, and the test server replaces its servers.
func addConfig(t *testing.T, all map[string]map[string]any, name, path string) (chains []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var own struct {
		Defaults   map[string]any            `yaml:"defaults"`
		MCPServers map[string]any            `yaml:"mcp_servers"`
		Agents     map[string]map[string]any `yaml:"agents"`
		Chains     map[string]map[string]any `yaml:"agent_chains"`
	}
	if err := yaml.Unmarshal(text, &own); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	in := func(section string) map[string]any {
		if all[section] == nil {
			all[section] = map[string]any{}
		}
		return all[section]
	}
	in("llm_providers")["main"] = map[string]any{
		"type": "openai", "model": "gpt-4o-mini", "base_url": "{{.E2E_MODEL}}", "api_key_env": "E2E_KEY",
	}
	own.Defaults["llm_provider"] = "main"
	for key, value := range own.Defaults {
		in("defaults")[key] = value
	}
	for server := range own.MCPServers {
		in("mcp_servers")[server] = map[string]any{"transport": map[string]any{"type": "stdio", "command": "{{.E2E_TOOLS}}"}}
	}
	for agentName, definition := range own.Agents {
		in("agents")[agentName+name] = definition
	}
	for chain, definition := range own.Chains {
		for _, stage := range definition["stages"].([]any) {
			for _, member := range stage.(map[string]any)["agents"].([]any) {
				member := member.(map[string]any)
				member["name"] = member["name"].(string) + name
			}
		}
		definition["alert_types"] = []string{name}
		in("agent_chains")[name+chain] = definition
		chains = append(chains, name+chain)
	}
	return chains
}

// TestInitTry is a new user's first investigation, with a model on the user's own server: one command writes
// the configuration, starts a system, and shows an investigation until it ends.
func TestInitTry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realistic, "")
	dir := filepath.Join(t.TempDir(), "inquest")
	out := w.must("init", dir, "--yes", "--provider", "openai:lab-1", "--base-url", w.model.URL, "--try")
	for _, want := range []string{"Created " + dir + "/inquest.yaml", "Investigation alert-", "The disk of db-1 is full."} {
		if !strings.Contains(out, want) {
			t.Errorf("init --try does not say %q:\n%s", want, out)
		}
	}
	asked := w.model.Requests()
	if len(asked) == 0 || !strings.Contains(string(asked[0].Body), "Is anything unhealthy right now?") {
		t.Errorf("the model was asked %d times, and not about the first alert", len(asked))
	}
	keyless := filepath.Join(t.TempDir(), "inquest")
	out, errs, code := w.starter("", "init", keyless, "--yes", "--provider", "anthropic:claude-sonnet-5-5", "--try")
	if code != 2 || !strings.Contains(errs, "ANTHROPIC_API_KEY is not set") || !strings.Contains(errs, " demo --config ") {
		t.Errorf("without a key: exit code %d\n%s%s", code, out, errs)
	}
}
