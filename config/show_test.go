package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
)

// A configuration that is shown and loaded again is the same one. Rapid makes a
// hundred of a property's configurations; this one asks for two hundred.
func TestShowLoadsAgain(t *testing.T) {
	t.Parallel()
	for _, half := range []string{"first hundred", "second hundred"} {
		t.Run(half, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, checkShown)
		})
	}
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
	shown, err := Show(c, opts)
	if err != nil {
		r.Fatal(err)
	}
	return string(shown)
}

// facts are what a configuration means.
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
	p, err := c.Plan(plan.Request{Chain: chain})
	if err != nil {
		p.Chain = err.Error()
	}
	p.Bounds.Origins = nil // another place, too
	return p
}

// withoutRemarks is what is shown, without where it comes from: that is another place.
func withoutRemarks(r *rapid.T, c *Config) []string {
	values, err := Explain(c, ShowOptions{Secrets: true})
	if err != nil {
		r.Fatal(err)
	}
	var all []string
	for _, v := range values {
		all = append(all, fmt.Sprintf("%s = %v", v.Path, v.Value))
	}
	return all
}
