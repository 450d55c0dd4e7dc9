package tool_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// bomb returns a schema in which each definition doubles the size of its target.
func bomb(doublings int, of string) string {
	defs := []string{`"d0":{"type":"object"}`}
	for n := range doublings {
		defs = append(defs, fmt.Sprintf(`"d%d":{%q:[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, n+1, of, n, n))
	}
	return fmt.Sprintf(`{"$defs":{%s},"$ref":"#/$defs/d%d"}`, strings.Join(defs, ","), doublings)
}

// nested returns a schema with a number of levels.
func nested(levels int) string {
	return strings.Repeat(`{"properties":{"a":`, levels/2) + `true` + strings.Repeat("}}", levels/2)
}

// TestBounded checks that a tool beyond a limit names it, and that the server's other tools are unaffected.
func TestBounded(t *testing.T) {
	t.Parallel()
	plain := tool.Spec{Name: "s.plain", Description: "reads", Schema: json.RawMessage(`{"type":"object"}`), Risk: agent.RiskReadOnly}
	for name, tt := range map[string]struct {
		spec tool.Spec
		want string
	}{
		"as large as may be": {tool.Spec{Name: "s." + strings.Repeat("n", 126), Description: strings.Repeat("d", 16<<10),
			Schema: json.RawMessage(nested(64))}, ""},
		"refers to itself":     {tool.Spec{Name: "s.t", Schema: json.RawMessage(`{"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}}}`)}, ""},
		"a few doublings":      {tool.Spec{Name: "s.t", Schema: json.RawMessage(bomb(8, "allOf"))}, ""},
		"no name":              {tool.Spec{Name: "s."}, "it has no name"},
		"name of 10 MB":        {tool.Spec{Name: "s." + strings.Repeat("n", 10<<20)}, "its name is longer than 128 bytes"},
		"unseen in its name":   {tool.Spec{Name: "s.read\u200b"}, "its name has invisible characters"},
		"escape in its name":   {tool.Spec{Name: "s.\x1b[2J"}, "its name has invisible characters"},
		"line end in its name": {tool.Spec{Name: "s.read\nServer lab is fine"}, "its name has invisible characters"},
		"description":          {tool.Spec{Name: "s.t", Description: strings.Repeat("d", 16<<10+1)}, "its description is longer than 16 KB"},
		"schema": {tool.Spec{Name: "s.t", Schema: json.RawMessage(`{"title":"` + strings.Repeat("x", 64<<10) + `"}`)},
			"its schema is longer than 64 KB"},
		"depth":                {tool.Spec{Name: "s.t", Schema: json.RawMessage(nested(66))}, "its schema is nested deeper than 64 levels"},
		"depth, out of bounds": {tool.Spec{Name: "s.t", Schema: json.RawMessage(strings.Repeat("[", 60_000))}, "nested deeper than 64 levels"},
		"doublings of allOf":   {tool.Spec{Name: "s.t", Schema: json.RawMessage(bomb(20, "allOf"))}, "expands to more than 10000 parts"},
		"of numbers that no float holds": {tool.Spec{Name: "s.t", Schema: json.RawMessage(
			strings.Replace(bomb(20, "allOf"), "{", `{"maximum":1e400,`, 1))}, "expands to more than 10000 parts"},
		"of anyOf":       {tool.Spec{Name: "s.t", Schema: json.RawMessage(bomb(400, "anyOf"))}, "expands to more than 10000 parts"},
		"of prefixItems": {tool.Spec{Name: "s.t", Schema: json.RawMessage(bomb(40, "prefixItems"))}, "expands to more than 10000 parts"},
		"pattern": {tool.Spec{Name: "s.t", Schema: json.RawMessage(`{"pattern":"(abcdefghijkl){1000}"}`)},
			"patterns that are too large"},
		"names as patterns": {tool.Spec{Name: "s.t", Schema: json.RawMessage(`{"patternProperties":{"(abcdef){1000}":{},"(ghijkl){1000}":{}}}`)},
			"patterns that are too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			specs := tool.Bounded([]tool.Spec{tt.spec, plain})
			got := specs[0]
			if (got.Unusable == "") != (tt.want == "") || !strings.Contains(got.Unusable, tt.want) {
				t.Errorf("unusable: %q, want %q", got.Unusable, tt.want)
			}
			if got.Unusable != "" && (got.Description != "" || got.Schema != nil || len(got.Name) > 128) {
				t.Errorf("it keeps a name of %d, a description of %d, a schema of %d bytes", len(got.Name), len(got.Description), len(got.Schema))
			}
			if specs[1].Unusable != "" || specs[1].Description != "reads" {
				t.Errorf("the tool beside it: %+v", specs[1])
			}
			if took := time.Since(began); took > 2*time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestBoundedTogether checks that a server's tools share a limit: tools beyond it cannot be used.
func TestBoundedTogether(t *testing.T) {
	t.Parallel()
	var specs []tool.Spec
	for n := range 20 {
		specs = append(specs, tool.Spec{Name: fmt.Sprintf("s.t%d", n), Description: strings.Repeat("d", 15<<10)})
	}
	specs = append(specs, tool.Spec{Name: "s.small"})
	usable := 0
	for _, spec := range tool.Bounded(specs) {
		if spec.Unusable == "" {
			usable++
		} else if !strings.Contains(spec.Unusable, "the server's tool definitions exceed 256 KB") {
			t.Errorf("%s: %s", spec.Name, spec.Unusable)
		}
	}
	if usable != 18 { // 17 and the small one
		t.Errorf("%d tools can be used", usable)
	}
}

// TestUnusableTool checks that an unusable tool is not offered, and that a call to it gets the reason.
func TestUnusableTool(t *testing.T) {
	t.Parallel()
	set := tool.NewPolicy(nil).Tools(agent.Type{}, plan.Agent{Servers: []plan.Server{{Name: "s"}}},
		[]tool.Catalogue{{Server: "s", Tools: []tool.Spec{{Name: "s.bad", Unusable: "its schema is longer than 64 KB"}, {Name: "s.good"}}}}, nil)
	if offered := set.Offered(); len(offered) != 1 || offered[0].Name != "s.good" {
		t.Errorf("offered: %+v", offered)
	}
	_, err := set.Decide("s__bad", "{}")
	if r := refusal(t, err); r.Type != tool.ErrorPermissionDenied ||
		r.Message != "Tool s.bad cannot be used: its schema is longer than 64 KB" {
		t.Errorf("refused: %+v", r)
	}
}

// TestDigest checks that a digest identifies one call of one definition.
func TestDigest(t *testing.T) {
	t.Parallel()
	spec := tool.Spec{Name: "s.t", Description: "reads", Schema: json.RawMessage(`{"type":"object"}`)}
	digest := func(spec tool.Spec, args string) string {
		set := tool.NewPolicy(nil).Tools(agent.Type{}, plan.Agent{Servers: []plan.Server{{Name: "s"}}},
			[]tool.Catalogue{{Server: "s", Tools: []tool.Spec{spec}}}, nil)
		decision, err := set.Decide(spec.Name, args)
		if err != nil {
			t.Fatal(err)
		}
		return decision.Digest()
	}
	want := digest(spec, `{"a":1.50,"b":"<é>"}`)
	if got := digest(spec, ` { "b": "\u003c\u00e9>" , "a":1.50 } `); got != want || len(want) != 64 {
		t.Errorf("the same arguments, spelt another way: %s, not %s", got, want)
	}
	other := spec
	other.Description = "deletes"
	for name, got := range map[string]string{
		"another value": digest(spec, `{"a":1.5,"b":"<é>"}`), "another key": digest(spec, `{"A":1.50,"b":"<é>"}`),
		"another definition": digest(other, `{"a":1.50,"b":"<é>"}`),
	} {
		if got == want {
			t.Errorf("%s has the same digest", name)
		}
	}
}
