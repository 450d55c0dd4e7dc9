package configuration

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// generatedEnv is the environment that generated configurations need.
var generatedEnv = map[string]string{
	"PATH": "testdata/bin", "OPENAI_API_KEY": "k1", "GOOGLE_API_KEY": "k2", "ANTHROPIC_API_KEY": "k3", "XAI_API_KEY": "k4",
	"AZURE_OPENAI_API_KEY": "k5",
	"INQUEST_EXECUTABLE":   "/bin/inquest", "INQUEST_DATA": "/data", "V": "a \"value\":\n {{.V}} # x", "N": "7", "T": "s3cret",
}

// configurations generates valid configurations, as YAML.
func configurations() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		g := generator{T: t, native: rapid.Bool().Draw(t, "native")}
		data, err := json.MarshalIndent(g.config(), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		return asYAML(string(data))
	})
}

// asYAML writes characters that YAML does not allow as escape sequences.
func asYAML(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r == '\n' || r >= ' ' && r <= '~' {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, `\U%08x`, r)
		}
	}
	return out.String()
}

type section = map[string]any

type generator struct {
	*rapid.T
	native                     bool // every agent has the native Gemini backend
	providers, servers, agents []string
}

func (g *generator) config() section {
	providers, servers := section{}, section{}
	g.providers, g.servers, g.agents = g.names("p"), g.names("s"), g.names("A")
	for _, name := range g.providers {
		providers[name] = g.provider()
	}
	for _, name := range g.servers {
		servers[name] = g.server()
	}
	defaults := g.some(section{
		"fallback_providers": g.fallbacks(), "max_iterations": "{{.N}}", "success_policy": g.one("any", "all"),
		"runbook": g.text(), "timeouts": g.timeouts(), "compression": g.compression(), "shell": g.shell(),
		"tool_search": section{"above": g.count()}, "tool_config": g.toolConfig(), "budgets": g.budgets(),
	})
	defaults["alert_masking"] = g.some(section{"enabled": g.yes(), "pattern_group": g.one("basic", "all")})
	defaults["summarization"] = g.some(section{"llm_provider": g.one(g.providers...)})
	defaults["llm_provider"], defaults["llm_backend"] = g.one(g.providers...), g.backend()
	agents := section{"Joiner": g.agent("synthesis")}
	for _, name := range g.agents {
		agents[name] = g.agent(g.one("", "default", "action", "react", "react_agent", "llm", "exec_summary", "tool_plan", "service", "letta_v1"))
	}
	return section{
		"defaults": defaults, "llm_providers": providers, "mcp_servers": servers, "agents": agents, "agent_chains": g.chains(),
		"queue":   g.some(section{"session_timeout": "40m", "graceful_shutdown_timeout": 90, "worker_count": g.count(), "poll_interval": "1s"}),
		"prompts": section{"strict": "{{.Agent}}", "kind": "You are {{ .Stage }} {{\"{{\"}}"},
		"system":  section{"store": g.either(section{"sqlite": g.text()}, section{"postgres": section{"dsn": "postgres://u:{{.T}}@h/db"}})},
	}
}

func (g *generator) provider() section {
	types := []string{"google"}
	if !g.native {
		types = append(types, "openai", "anthropic", "xai", "ollama", "scripted", "azure")
	}
	p := section{"type": g.one(types...), "model": g.one("m", "{{.V}}", "sample")}
	switch p["type"] {
	case "azure":
		p["base_url"], p["api_version"] = "https://x.openai.azure.com", "2024-10-21"
	case "google":
		p["driver"] = "genai"
		p["native_tools"] = g.some(section{"google_search": true, "url_context": false})
	default:
		if g.yes() {
			p["base_url"] = "http://localhost:8000/v1"
		}
	}
	return p
}

func (g *generator) server() section {
	s := g.some(section{"instructions": g.text(), "task_queue": "near", "risk": section{"a.b": "read_only", "x y": "high"},
		"summarization": g.summarization(), "data_masking": g.masking()})
	web := g.some(section{
		"bearer_token": "{{.T}}", "verify_ssl": g.yes(), "timeout": 30,
		"custom_headers":      section{"X-Session": "{{.SESSION_ID}}", "X-Key": "literal {{.T}}", "X": g.text()},
		"session_cleanup_url": "http://h/{{.SESSION_ID}}?k={{.T}}",
	})
	web["type"], web["url"] = g.one("http", "sse"), "http://h/{{.N}}"
	local := g.some(section{"args": []string{"-v", g.text(), "{{.V}}"}, "env": section{"A": g.text(), "B": "{{.T}} {{.SESSION_ID}}"},
		"type": "stdio"})
	local["command"] = g.one("cmd", "{{.V}}")
	s["transport"] = g.either(web, local)
	return s
}

func (g *generator) masking() section {
	custom := section{"pattern": "a+"}
	if g.yes() {
		custom["replacement"], custom["description"] = "${1}x", g.text()
	}
	return g.some(section{
		"enabled": g.yes(), "pattern_groups": g.subset([]string{"basic", "cloud"}), "patterns": g.subset([]string{"jwt", "email"}),
		"custom_patterns": []section{custom},
	})
}

func (g *generator) summarization() section {
	s := g.some(section{"enabled": g.yes(), "size_threshold_tokens": 100, "summary_max_token_limit": 50,
		"llm_provider": g.one(g.providers...)})
	if g.native && s["llm_provider"] != nil {
		s["llm_backend"] = g.one("langchain", "native-gemini")
	}
	return s
}

func (g *generator) agent(kind string) section {
	a := g.some(section{
		"description": g.text(), "custom_instructions": g.text(), "mcp_servers": g.subset(g.servers), "max_iterations": g.count(),
		"on_limit": g.one("conclude", "error"), "temperature": rapid.Float32Range(0, 2).Draw(g.T, "temperature"), "max_tokens": g.count(),
		"compression": g.compression(), "tool_search": section{"above": "{{.N}}"}, "timeouts": g.timeouts(), "tool_config": g.toolConfig(),
		"default_model":      g.one(append(slices.Clone(g.providers), g.providers[0]+":large")...),
		"fallback_providers": g.fallbacks(),
	})
	if a["type"] = kind; strings.HasPrefix(kind, "react") {
		a["shell"] = g.shell()
	}
	if kind == "letta_v1" {
		block := g.some(section{"value": g.text(), "description": g.text(), "limit": 500 + g.count(), "read_only": g.yes()})
		block["label"] = "facts"
		a["memory_blocks"] = []section{block}
	}
	if g.native && g.yes() {
		a["native_tools"] = g.some(section{"google_search": g.yes(), "code_execution": true})
	}
	return a
}

func (g *generator) chains() section {
	chains := section{}
	for i, name := range g.names("c") {
		names, graph := g.names("stage "), g.yes()
		var stages []section
		for n, name := range names {
			flow := g.routing(names)
			if graph {
				flow = g.dependencies(names, n)
			}
			stages = append(stages, g.stage(name, flow))
		}
		c := g.some(section{
			"description": g.text(), "llm_provider": g.one(g.providers...), "llm_backend": g.backend(), "fallback_providers": g.fallbacks(),
			"max_iterations": g.count(), "mcp_servers": g.subset(g.servers), "timeout": "1h30m", "runbook": g.text(),
			"bounds": g.bounds(names), "budgets": g.budgets(), "interrupts": g.interrupts(names),
		})
		c["alert_types"], c["stages"] = []string{fmt.Sprintf("type %d", i), g.text() + fmt.Sprint(i)}, stages
		chains[name] = c
	}
	return chains
}

// flow returns keys that every stage may have about its results.
func (g *generator) flow(more section) section {
	all := section{
		"required_output_fields": []string{"a", g.text()},
		"output_schema": section{"type": "object", "required": []string{"a"},
			"properties": section{"a": section{"enum": []any{g.json(0)}, "description": g.text()}}},
	}
	maps.Copy(all, more)
	return g.some(all)
}

// routing returns routing with arbitrary targets.
func (g *generator) routing(names []string) section {
	target := func() string { return g.one(append(slices.Clone(names), "end", "clarification", "confirmation")...) }
	rule := section{"condition": g.text(), "value": g.json(0), "target": target()}
	return g.flow(section{"routing_rules": []section{rule}, "default_next": target(), "error_next": target(), "loop_target": target()})
}

// dependencies returns dependencies on stages before the n-th.
func (g *generator) dependencies(names []string, n int) section {
	flow := g.flow(section{"default_next": "confirmation", "error_next": names[0], "loop_target": names[n]})
	if n > 0 && g.yes() {
		flow["requires"], flow["after"], flow["join"] = []string{g.one(names[:n]...)}, g.subset(names[:n]), g.one("any", "all")
	}
	return flow
}

// json returns an arbitrary JSON value.
func (g *generator) json(depth int) any {
	kinds := []func() any{
		func() any { return g.text() }, func() any { return g.one("null", "1.0", "2026-01-02", "~", "<<", "0x10", "no") },
		func() any { return rapid.Float64().Draw(g.T, "number") }, func() any { return g.count() }, func() any { return g.yes() },
		func() any { return nil },
	}
	if depth < 3 {
		kinds = append(kinds,
			func() any { return []any{g.json(depth + 1), g.json(depth + 1)} },
			func() any {
				return section{"<<": g.json(depth + 1), strings.ReplaceAll(g.text(), "{{", "{"): g.json(depth + 1)}
			},
			func() any { return g.either(section{}, section{"": []any{}}) })
	}
	return rapid.SampledFrom(kinds).Draw(g.T, "kind")()
}

func (g *generator) bounds(names []string) section {
	// To the same stage or back: in a graph, a forward edge is not a jump.
	from := rapid.IntRange(0, len(names)-1).Draw(g.T, "from")
	edge := section{"from": names[from], "to": g.one(names[:from+1]...), "max_count": g.count()}
	return g.some(section{"max_passes": g.count(), "max_llm_calls": g.count(), "max_agent_hops": g.count(), "edge_limits": []section{edge}})
}

func (g *generator) budgets() section {
	return g.some(section{"max_tokens_total": g.count(), "max_cost_usd": rapid.Float64Range(0.001, 99).Draw(g.T, "cost"),
		"max_duration": "50m"})
}

func (g *generator) interrupts(names []string) section {
	return g.some(section{
		"clarification_resume_stage": g.one(names...), "confirmation_resume_stage": g.one(names...), "agent_review_resume_stage": g.one(names...),
		"clarification_timeout": "2h", "confirmation_timeout": 90, "agent_review_timeout": "{{.N}}", "on_expiry": g.one("end", "continue"),
	})
}

// stage puts its flow's keys on itself or on the entry of its only agent.
func (g *generator) stage(name string, flow section) section {
	s := g.some(section{
		"temperature": rapid.Float32Range(0, 2).Draw(g.T, "temperature"), "max_tokens": g.count(),
		"success_policy": g.one("any", "all"), "max_iterations": g.count(), "mcp_servers": g.subset(g.servers), "mock": g.text(),
		"prompt_key":         "strict",
		"fallback_providers": g.fallbacks(), "timeout": 600,
		"synthesis": g.some(section{"agent": "Joiner", "llm_provider": g.one(g.providers...), "llm_backend": g.backend()}),
	})
	var agents []section
	for range rapid.IntRange(1, 3).Draw(g.T, "agents") {
		a := g.some(section{
			"llm_provider": g.one(g.providers...), "llm_backend": g.backend(), "max_iterations": g.count(),
			"mcp_servers": g.subset(g.servers), "fallback_providers": g.fallbacks(), "timeout": "5m",
			"temperature": 0.5, "max_tokens": g.count(), "mock": "m", "prompt_key": "kind",
		})
		a["name"] = g.one(g.agents...)
		agents = append(agents, a)
	}
	if s["name"], s["agents"] = name, agents; len(agents) == 1 && g.yes() {
		s["replicas"] = rapid.IntRange(1, 4).Draw(g.T, "replicas")
	}
	for _, key := range slices.Sorted(maps.Keys(flow)) {
		at := s
		if len(agents) == 1 && g.yes() {
			at = agents[0]
		}
		at[key] = flow[key]
	}
	return s
}

func (g *generator) compression() section {
	return g.some(section{
		"compress_context": g.yes(), "max_context_tokens": g.count(), "compression_threshold": rapid.Float64Range(0.01, 1).Draw(g.T, "threshold"),
		"keep_recent_messages": rapid.IntRange(0, 9).Draw(g.T, "keep"), "strategy": g.one("window", "truncate", "summarize"),
	})
}

func (g *generator) shell() section {
	return g.some(section{"allow": []string{"ls", "cat"}, "timeout": "10s", "max_output": g.count(), "dir": "{{.V}}",
		"risk": g.one("write", "low")})
}

func (g *generator) toolConfig() section {
	tools := []string{"shell", "read_result", g.one(g.servers...) + ".get", g.one(g.servers...) + "__list", "{{.V}}"}
	permissions := section{}
	for _, name := range g.subset(tools[:4]) {
		permissions[name] = g.some(section{
			"max_results": g.count(), "timeout_seconds": "{{.N}}", g.one("rate_limit", "rate_limit_per_minute"): g.count(),
			"requires_approval": g.yes(), "allowed_ns_patterns": []string{"dev-*", "{{.V}}"}, "allowed_a.b c_patterns": []string{"?"},
		})
	}
	return g.some(section{
		"enabled_tools": g.subset(tools), "disabled_tools": g.subset(tools), "access_level": g.one("none", "read", "write", "all"),
		"confirm_destructive": g.yes(), "approval_timeout": "10m", "tool_permissions": permissions,
	})
}

func (g *generator) timeouts() section {
	return g.some(section{"agent": "{{.N}}", "iteration": "1m", "tool": 20, "stream_idle": "1m30s"})
}

func (g *generator) fallbacks() []section {
	all := []section{}
	for range rapid.IntRange(0, 2).Draw(g.T, "fallbacks") {
		all = append(all,
			g.either(section{"provider": g.one(g.providers...)}, section{"provider": g.one(g.providers...), "backend": "langchain"}))
	}
	return all
}

func (g *generator) backend() string {
	if g.native {
		return g.one("native-gemini", "google-native")
	}
	return "langchain"
}

// text returns text with or without variables.
func (g *generator) text() string {
	if g.yes() {
		return g.one("{{.V}}", "a {{.V}} b", "{{\"{{\"}}", "# no comment", "- x", "yes", "line\n  line\n", "\n x", " x ",
			"a\n\nb\n\n", "{{.SESSION_ID}}")
	}
	return strings.ReplaceAll(rapid.StringN(1, 30, -1).Draw(g.T, "text"), "{{", "{") + "."
}

// names returns one to three names.
func (g *generator) names(prefix string) (names []string) {
	for i := range rapid.IntRange(1, 3).Draw(g.T, prefix) {
		names = append(names, fmt.Sprintf("%s%d", prefix, i))
	}
	return names
}

// some leaves out some of the keys.
func (g *generator) some(all section) section {
	out := section{}
	keys := rapid.SliceOfDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(all))), rapid.ID[string]).Draw(g.T, "keys")
	for _, key := range keys {
		out[key] = all[key]
	}
	return out
}

func (g *generator) subset(all []string) []string {
	return rapid.SliceOfDistinct(rapid.SampledFrom(all), rapid.ID[string]).Draw(g.T, "names")
}

func (g *generator) one(all ...string) string { return rapid.SampledFrom(all).Draw(g.T, "one") }
func (g *generator) either(a, b section) section {
	return rapid.SampledFrom([]section{a, b}).Draw(g.T, "either")
}
func (g *generator) yes() bool  { return rapid.Bool().Draw(g.T, "yes") }
func (g *generator) count() int { return rapid.IntRange(1, 10000).Draw(g.T, "count") }
