package configuration

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
)

// TestShowLoadsAgain checks that a shown configuration loads as the same one. Rapid checks a hundred configurations by
// default; this test uses two hundred.
func TestShowLoadsAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, checkShown)
}

func checkShown(r *rapid.T) {
	text := configurations().Draw(r, "configuration")
	before := reload(r, text)
	shown := showText(r, before, ShowOptions{Secrets: true})
	after := reload(r, shown)
	if diff := cmp.Diff(facts(before, true), facts(after, true)); diff != "" {
		r.Fatalf("shown\n%s\nis another configuration:\n%s", shown, diff)
	}
	if diff := cmp.Diff(withoutRemarks(r, before), withoutRemarks(r, after)); diff != "" {
		r.Fatalf("shown again, it differs:\n%s", diff)
	}
	plain := showText(r, before, ShowOptions{})
	if diff := cmp.Diff(facts(before, false), facts(reload(r, plain), false)); diff != "" {
		r.Fatalf("shown without secrets, it has other plans:\n%s", diff)
	}
	for _, secret := range []string{generatedEnv["T"], "literal"} {
		if strings.Contains(plain, secret) {
			r.Fatalf("%q is shown:\n%s", secret, plain)
		}
	}
	chain := rapid.SampledFrom(slices.Sorted(maps.Keys(before.AgentChains))).Draw(r, "chain")
	one := reload(r, showText(r, before, ShowOptions{Chain: chain}))
	if diff := cmp.Diff(planOf(before, chain), planOf(one, chain)); diff != "" {
		r.Fatalf("chain %s, shown alone, differs:\n%s", chain, diff)
	}
}

func reload(r *rapid.T, text string) *Config {
	c, findings := check(Source{Env: lookupIn(generatedEnv)}, []strict.File{{Name: "a.yaml", Data: []byte(text)}}, strict.NewReport())
	if findings.Failed() {
		r.Fatalf("%v in\n%s", failures(findings), text)
	}
	return c
}

func showText(r *rapid.T, c *Config, opts ShowOptions) string {
	shown, _, err := Show(c, opts)
	if err != nil {
		r.Fatal(err)
	}
	return string(shown)
}

// facts returns the meaning of a configuration.
func facts(c *Config, secrets bool) map[string]any {
	all := map[string]any{"session": c.Queue.SessionTimeout, "drain": c.Queue.GracefulShutdownTimeout, "workers": c.Queue.WorkerCount}
	if store, err := c.Store(); secrets {
		all["store"] = []any{store.Postgres, store.SQLite, err}
	}
	for name := range c.AgentChains {
		all["plan "+name] = planOf(c, name)
	}
	for name := range c.MCPServers {
		if t, err := c.Transport(name); secrets {
			all["server "+name] = []any{t, err}
		}
	}
	return all
}

func planOf(c *Config, chain string) plan.Plan {
	p, err := c.Plan(agent.Request{Chain: chain})
	if err != nil {
		p.Chain = err.Error()
	}
	p.Bounds.Origins = nil // in another place, too
	return p
}

// withoutRemarks returns a shown configuration without the origins, which differ.
func withoutRemarks(r *rapid.T, c *Config) []string {
	_, values, err := Show(c, ShowOptions{Secrets: true})
	if err != nil {
		r.Fatal(err)
	}
	var all []string
	for _, v := range values {
		all = append(all, fmt.Sprintf("%s = %v", v.Path, v.Value))
	}
	return all
}

// TestShowForgetsNoKey checks that every key is shown, where it was written or where it applies.
func TestShowForgetsNoKey(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(everyKey(reflect.TypeFor[config.Config]()))
	if err != nil {
		t.Fatal(err)
	}
	r := strict.NewReport()
	c := read([]strict.File{{Name: "a.yaml", Data: text}}, lookupIn(baseEnv), r)
	if len(r.Findings) > 0 {
		t.Fatal(r.Findings)
	}
	loader{c}.defineModels()
	c.chainOf = map[string]string{"x": "x"}
	r.Findings = nil // an agent has both a model and a role
	_, shown, err := Show(c, ShowOptions{Secrets: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range strict.Places(reflect.TypeFor[config.Config]()) {
		for _, key := range place.Schema.Order {
			name := place.Key(key)
			at := strings.NewReplacer("<name>", "x", "<parameter>", "x", "[]", "[0]").Replace(name)
			there := slices.ContainsFunc(shown, func(v Shown) bool {
				return strings.HasPrefix(v.Path+".", at+".") || strings.HasPrefix(v.Path, at+"[")
			})
			if there == slices.ContainsFunc(shownElsewhere, func(re *regexp.Regexp) bool { return re.MatchString(name) }) {
				t.Errorf("%s: shown is %t", name, there)
			}
		}
	}
}

// shownElsewhere are keys that are shown on the agents that they apply to, or on the stage.
var shownElsewhere = []*regexp.Regexp{
	regexp.MustCompile(`^agents\.<name>\.model_role$`),
	regexp.MustCompile(`^agent_chains\.<name>\.(max_iterations|mcp_servers|tool_config\b.*|sub_agents\b.*)$`),
	regexp.MustCompile(`\.stages\[\]\.(max_iterations|mcp_servers|fallback_providers\b.*|tool_config\b.*|` +
		`temperature|max_tokens|thinking|reasoning_effort|mock|prompt_key|sub_agents\b.*)$`),
	regexp.MustCompile(`^agent_chains\..*\.(executive_summary|scoring)\.fallback_list$`), // shown as the providers in it
	regexp.MustCompile(`\.agents\[\]\.(type|output_key|required_output_fields|output_schema|` +
		`routing_rules\b.*|default_next|error_next|loop_target)$`),
	regexp.MustCompile(`\.agents\[\]\.(requires|after|join|pre_process|post_process|on_approve|\w+_resume_stage)$`),
}

// everyKey returns a value with every key in it. All names are x.
func everyKey(t reflect.Type) any {
	switch t.Kind() {
	case reflect.Pointer:
		return everyKey(t.Elem())
	case reflect.Map:
		return section{"x": everyKey(t.Elem())}
	case reflect.Slice:
		if t == strict.JSONType {
			return "x"
		}
		return []any{everyKey(t.Elem())}
	case reflect.Struct:
	case reflect.String:
		return "x"
	case reflect.Bool:
		return true
	default:
		return 2
	}
	all, schema := section{}, strict.SchemaOf(t)
	for key, f := range schema.Fields {
		value := everyKey(t.FieldByIndex(f.Index).Type)
		if f.Open {
			key, value = f.Before+"x"+f.After, value.(section)["x"]
		}
		all[key] = value
	}
	if t == reflect.TypeFor[config.Agent]() {
		all["type"] = "react" // a type with tools and a shell
	}
	return all
}
