package tool_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// single returns the set with one tool, x.t, with a schema and permissions.
func single(schema string, config plan.ToolConfig) *tool.Set {
	p := attached("x")
	p.Tools = config
	spec := tool.Spec{Name: "x.t", Risk: agent.RiskWrite, Schema: json.RawMessage(schema)}
	return tool.NewPolicy(nil).Tools(agent.Type{}, p, []tool.Catalogue{{Server: "x", Tools: []tool.Spec{spec}}}, nil)
}

func limited(p plan.Permission) plan.ToolConfig {
	return plan.ToolConfig{Permissions: map[string]plan.Permission{"x.t": p}}
}

func TestMaxResults(t *testing.T) {
	t.Parallel()
	const (
		integer  = `{"properties":{"max_results":{"type":"integer"}}}`
		bounded  = `{"properties":{"max_results":{"type":["integer","null"],"maximum":5}}}`
		nullable = `{"properties":{"max_results":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`
		other    = `{"properties":{"limit":{"type":"integer"}}}`
		broken   = `{"properties":{"max_results":{"type":12}}}`
	)
	for name, tc := range map[string]struct{ schema, args, want, err string }{
		"less":                         {integer, `{"max_results":3}`, `{"max_results":3}`, ""},
		"as many":                      {integer, `{"max_results":10}`, `{"max_results":10}`, ""},
		"more":                         {integer, `{"max_results":11,"q":"<a>"}`, `{"max_results":10,"q":"<a>"}`, ""},
		"more than any float":          {integer, `{"max_results":1` + strings.Repeat("0", 400) + `}`, ``, "out of range"},
		"with an exponent":             {integer, `{"max_results":1e3}`, `{"max_results":10}`, ""},
		"zero":                         {integer, `{"max_results":0}`, `{"max_results":10}`, ""},
		"negative":                     {integer, `{"max_results":-1}`, `{"max_results":10}`, ""},
		"fraction":                     {integer, `{"max_results":2.5}`, ``, "got number, want integer"},
		"left out":                     {integer, `{"n":12345678901234567890}`, `{"max_results":10,"n":12345678901234567890}`, ""},
		"no arguments":                 {integer, ``, `{"max_results":10}`, ""},
		"null":                         {nullable, `{"max_results":null}`, `{"max_results":10}`, ""},
		"left out, schema allows less": {bounded, ``, `{"max_results":5}`, ""},
		"schema without it":            {other, `{}`, `{}`, ""},
		"no schema":                    {``, `{"max_results":50}`, `{"max_results":10}`, ""},
		"broken schema":                {broken, `{}`, `{"max_results":10}`, ""},
		"text":                         {integer, `{"max_results":"50"}`, `{"max_results":10}`, ""},
		"text, no schema":              {``, `{"max_results":"50"}`, ``, "max_results must be a number, at most 10"},
		"twice":                        {integer, `{"max_results":99,"max_results":3}`, ``, "twice in one object"},
		"another case":                 {integer, `{"max_results":3,"Max_Results":99}`, `{"Max_Results":10,"max_results":3}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := single(tc.schema, limited(plan.Permission{MaxResults: 10})).Decide("x.t", tc.args)
			if string(got.Arguments) != tc.want || (err == nil) != (tc.err == "") {
				t.Errorf("got %s, %v", got.Arguments, err)
			}
			if err != nil && (refusal(t, err).Type != tool.ErrorInvalidArguments || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAllowedPatterns(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		patterns []string
		args     string
		allowed  bool
	}{
		"exact":                {[]string{"dev"}, `{"ns":"dev"}`, true},
		"the whole value":      {[]string{"dev"}, `{"ns":"dev-1"}`, false},
		"case":                 {[]string{"dev"}, `{"ns":"Dev"}`, false},
		"one of several":       {[]string{"dev", "test-*"}, `{"ns":"test-"}`, true},
		"star in the middle":   {[]string{"a*b*c"}, `{"ns":"a/b\nbc"}`, true},
		"star that goes back":  {[]string{"*ab?"}, `{"ns":"aababé"}`, true},
		"star that fails":      {[]string{"a*b"}, `{"ns":"aaac"}`, false},
		"one character":        {[]string{"?"}, `{"ns":"é"}`, true},
		"characters of bytes":  {[]string{"*??x*"}, `{"ns":"😀xq"}`, false},
		"not two characters":   {[]string{"?"}, `{"ns":"ab"}`, false},
		"not no character":     {[]string{"?"}, `{"ns":""}`, false},
		"empty":                {[]string{"*"}, `{"ns":""}`, true},
		"other signs":          {[]string{"[a](b|c)+.$"}, `{"ns":"[a](b|c)+.$"}`, true},
		"no class":             {[]string{"[ab]"}, `{"ns":"a"}`, false},
		"missing":              {[]string{"*"}, `{}`, false},
		"null":                 {[]string{"*"}, `{"ns":null}`, false},
		"no pattern":           {nil, `{"ns":"dev"}`, false},
		"number":               {[]string{"8*"}, `{"ns":8080}`, true},
		"boolean":              {[]string{"false"}, `{"ns":false}`, true},
		"boolean, unmatched":   {[]string{"false"}, `{"ns":true}`, false},
		"list":                 {[]string{"dev", "test"}, `{"ns":["dev",["test"]]}`, true},
		"list with another":    {[]string{"dev", "test"}, `{"ns":["dev","prod"]}`, false},
		"list with a list":     {[]string{"*"}, `{"ns":["dev",[]]}`, false},
		"empty list":           {[]string{"*"}, `{"ns":[]}`, false},
		"object":               {[]string{"*"}, `{"ns":{"a":"dev"}}`, false},
		"another case":         {[]string{"dev"}, `{"ns":"dev","NS":"prod"}`, false},
		"another case alone":   {[]string{"dev"}, `{"NS":"dev"}`, false},
		"escaped":              {[]string{"dev"}, `{"n\u0073":"\u0064ev"}`, true},
		"many stars take long": {[]string{strings.Repeat("a*", 40) + "b"}, `{"ns":"` + strings.Repeat("a", 10_000) + `"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := single("", limited(plan.Permission{Allowed: map[string][]string{"ns": tc.patterns}}))
			got, err := set.Decide("x__t", tc.args)
			if (err == nil) != tc.allowed {
				t.Fatalf("got %+v, %v", got, err)
			}
			if err == nil {
				if second, err := set.Decide("x.t", string(got.Arguments)); err != nil || strings.Count(string(got.Arguments), `"ns"`) != 1 {
					t.Errorf("%s is sent: %+v, %v", got.Arguments, second, err)
				}
				return
			}
			if r := refusal(t, err); r.Type != tool.ErrorPermissionDenied || !utf8.ValidString(r.Message) ||
				!strings.Contains(strings.ToLower(r.Message), `the parameter "ns", which must match one of: `+strings.Join(tc.patterns, ", ")) {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestDecisionCarriesLimits(t *testing.T) {
	t.Parallel()
	loose := plan.Permission{MaxResults: 9, Timeout: plan.Duration(time.Minute), RatePerMinute: 5, Allowed: map[string][]string{"ns": {"a*"}}}
	tight := plan.Permission{MaxResults: 3, Timeout: plan.Duration(time.Second), RequiresApproval: true,
		Allowed: map[string][]string{"ns": {"*b"}}}
	both := plan.ToolConfig{Permissions: map[string]plan.Permission{"x.t": loose, "x__t": tight}}
	got, err := single("", both).Decide("x.t", `{"ns":"ab","max_results":5}`)
	want := tool.Decision{
		Spec: tool.Spec{Name: "x.t", Risk: agent.RiskWrite, Schema: json.RawMessage{}}, Arguments: json.RawMessage(`{"max_results":3,"ns":"ab"}`),
		Timeout: time.Second, RatePerMinute: 5, NeedsApproval: true,
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, ns := range []string{"a", "b"} {
		if _, err := single("", both).Decide("x.t", `{"ns":"`+ns+`"}`); err == nil {
			t.Errorf("%q is allowed by one of two spellings", ns)
		}
	}
	for _, tc := range []struct{ own, agents, want time.Duration }{{0, 0, 0}, {1, 0, 1}, {0, 2, 2}, {1, 2, 1}, {3, 2, 2}} {
		if got := (tool.Decision{Timeout: tc.own}).Within(tc.agents); got != tc.want {
			t.Errorf("%d within %d is %d", tc.own, tc.agents, got)
		}
	}
}

// TestBadArgumentsComeBeforeApproval checks that an invalid call is refused at once, without asking a person.
func TestBadArgumentsComeBeforeApproval(t *testing.T) {
	t.Parallel()
	set := single(getSchema, limited(plan.Permission{RequiresApproval: true}))
	got, err := set.Decide("x.t", `{"ns":null}`)
	if refusal(t, err).Type != tool.ErrorInvalidArguments || got.Spec.Name != "x.t" || got.NeedsApproval || got.Arguments != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestRespelledArgumentsAreJudged checks that limits and rules apply to the arguments in the form that is sent.
func TestRespelledArgumentsAreJudged(t *testing.T) {
	t.Parallel()
	const schema = `{"properties":{"ns":{"type":"string"}}}`
	set := single(schema, limited(plan.Permission{Allowed: map[string][]string{"ns": {"7"}}}))
	got, err := set.Decide("x.t", `{"ns":7}`)
	if err != nil || string(got.Arguments) != `{"ns":"7"}` || len(got.Coerced) != 1 {
		t.Errorf("allowed: %+v, %v", got, err)
	}
	if _, err := set.Decide("x.t", `{"ns":8}`); err == nil {
		t.Error("8 is allowed")
	}
	asText, err := set.Decide("x.t", `{"ns":"7"}`)
	if err != nil || asText.Digest() != got.Digest() || len(asText.Coerced) != 0 {
		t.Errorf("what a person approves differs: %+v, %v", asText, err)
	}
}
