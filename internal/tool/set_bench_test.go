package tool_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// fifty returns fifty tools on five servers, with the schema and the restrictions of a real one.
func fifty() (plan.Agent, []tool.Catalogue) {
	const schema = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["namespace"],"additionalProperties":false,
		"properties":{
		"namespace":{"type":"string","description":"The namespace to look into","minLength":1},
		"selector":{"type":"string","description":"A label selector"},
		"since":{"type":"string","pattern":"^[0-9]+[smhd]$"},"fields":{"type":"array","items":{"type":"string"}},
		"max_results":{"type":"integer","minimum":1,"maximum":1000,"default":100}}}`
	p := plan.Agent{Tools: plan.ToolConfig{Access: plan.AccessWrite, Permissions: map[string]plan.Permission{}}}
	var catalogues []tool.Catalogue
	for s := range 5 {
		c := tool.Catalogue{Server: fmt.Sprintf("server%d", s)}
		p.Servers = append(p.Servers, plan.Server{Name: c.Server})
		for n := range 10 {
			name := fmt.Sprintf("%s.tool_number_%d", c.Server, n)
			c.Tools = append(c.Tools, tool.Spec{Name: name, Risk: agent.RiskReadOnly, Schema: json.RawMessage(schema)})
			p.Tools.Permissions[name] = plan.Permission{
				MaxResults: 100, Timeout: plan.Duration(time.Minute), RatePerMinute: 30,
				Allowed: map[string][]string{"namespace": {"prod-*", "staging-??", "dev"}},
			}
		}
		catalogues = append(catalogues, c)
	}
	return p, catalogues
}

// BenchmarkDecide measures a decision with every kind of limit, with 50 tools: 10 µs on an EPYC of 2024. It must stay
// below 20 µs.
func BenchmarkDecide(b *testing.B) {
	p, catalogues := fifty()
	set := tool.NewPolicy(nil).Tools(agent.Type{}, p, catalogues, nil)
	for b.Loop() {
		if _, err := set.Decide("server3__tool_number_7",
			`{"namespace":"dev","selector":"app=web","since":"15m","max_results":5000}`); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTools measures making the set, which happens once for each call of a tool or model: 57 µs.
func BenchmarkTools(b *testing.B) {
	p, catalogues := fifty()
	policy := tool.NewPolicy(nil)
	for b.Loop() {
		if set := policy.Tools(agent.Type{}, p, catalogues, nil); len(set.Offered()) != 50 {
			b.Fatal("not all are offered")
		}
	}
}

// FuzzDecide checks for arbitrary servers and models that nothing panics, and that an allowed call is for the requested
// tool with an allowed object.
func FuzzDecide(f *testing.F) {
	f.Add("x.t", `{"ns":"dev","max_results":50}`, getSchema, "dev*")
	f.Add("x__t", `{"ns":["a",1,null,true],"MAX_RESULTS":-1e300}`, `{"properties":{"max_results":{"maximum":3}}}`, "?*?")
	f.Add("shell", `{"ns":`, `{"properties":[]}`, "")
	f.Add("x.t", `{"ns":"\ud800"}`, `{"$ref":"#"}`, "*\xff*")
	f.Fuzz(func(t *testing.T, name, args, schema, pattern string) {
		config := limited(plan.Permission{MaxResults: 7, Allowed: map[string][]string{"ns": {pattern}}})
		got, err := single(schema, config).Decide(name, args)
		if err != nil {
			if r := refusal(t, err); !utf8.ValidString(r.Message) && utf8.ValidString(pattern) {
				t.Errorf("%q", r.Message)
			}
			return
		}
		var object map[string]any
		if json.Unmarshal(got.Arguments, &object) != nil || name != "x.t" && name != "x__t" || !utf8.Valid(got.Arguments) {
			t.Fatalf("call of %q runs %+v", name, got)
		}
		for key, value := range object {
			if n, ok := value.(float64); strings.EqualFold(key, "max_results") && (!ok || n < 1 || n > 7) {
				t.Errorf("%s = %v of %q is not capped", key, value, args)
			}
		}
		if object["ns"] == nil {
			t.Errorf("%q passes without ns", args)
		}
	})
}
