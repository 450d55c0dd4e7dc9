package job

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// TestStageObject checks which object of a text later stages get: one that meets the contract, or else one that steers the chain.
func TestStageObject(t *testing.T) {
	t.Parallel()
	routed := plan.Stage{Name: "s", Agents: []plan.Agent{{}}, Routing: plan.Routing{Rules: []plan.Rule{{Condition: "severity"}}}}
	contract := plan.Stage{Name: "s", Agents: []plan.Agent{{Contract: plan.Contract{
		JSON: true, Schema: json.RawMessage(`{"properties":{"severity":{"type":"integer"}},"required":["severity"]}`),
	}}}}
	joined := contract
	joined.Agents, joined.Synthesis = []plan.Agent{{}, {}}, &contract.Agents[0]
	a := &Worker{Validator: tool.NewValidator()}
	for name, tt := range map[string]struct {
		stage plan.Stage
		text  string
		keys  []string
		want  string
	}{
		"a routing rule's key":    {routed, "{\"severity\":3} as of\n```\n{\"q\":\"x\"}\n```", nil, `{"severity":3}`},
		"an outcome":              {routed, `{"outcome":"replan"} because of {"q":"x"}`, nil, `{"outcome":"replan"}`},
		"a key of the caller":     {routed, `{"steps":[]} because of {"q":"x"}`, []string{"steps"}, `{"steps":[]}`},
		"beside the evidence":     {routed, "{\"cause\":1}\n```evidence\n{\"evidence\":[]}\n```", nil, `{"cause":1}`},
		"no key":                  {routed, `{"a":1} {"q":"x"}`, nil, `{"q":"x"}`},
		"the schema":              {contract, `{"severity":3} {"severity":"high"}`, nil, `{"severity":3}`},
		"the synthesis's schema":  {joined, `{"severity":3} {"outcome":"replan"}`, nil, `{"severity":3}`},
		"a violation":             {contract, `{"severity":"low"} {"severity":"high"}`, nil, `{"severity":"high"}`},
		"a template":              {routed, `{"severity":"<severity>"}`, nil, `null`},
		"plain text":              {contract, `It is {severe}.`, nil, `null`},
		"a stage without agents":  {plan.Stage{}, `{"a":1}`, nil, `{"a":1}`},
		"what a person is asked":  {routed, `{"question":"Which pod?"} {"q":"x"}`, nil, `{"question":"Which pod?"}`},
		"the newer of two":        {routed, `{"severity":3} {"severity":2}`, nil, `{"severity":2}`},
		"one object of one text":  {routed, ` {"cause":{"severity":3}} `, nil, `{"cause":{"severity":3}}`},
		"quoted inside an object": {routed, `{"severity":1,"why":"not {\"severity\":2}"}`, nil, `{"severity":1,"why":"not {\"severity\":2}"}`},
	} {
		got, err := json.Marshal(a.StageObject(tt.stage, tt.text, tt.keys...))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, tt.want)
		}
	}
}

// TestSchemaInPlaceOfTheObject checks that a schema which the model repeats is no result, although it satisfies itself.
func TestSchemaInPlaceOfTheObject(t *testing.T) {
	t.Parallel()
	const about = `{"type": "string", "description": "why"}`
	const schema = `{"type": "object", "properties": {"a": ` + about + `}}`
	j := &Job{Worker: &Worker{Validator: tool.NewValidator()}}
	j.Agent = plan.Agent{Name: "A", Contract: plan.Contract{Schema: json.RawMessage(schema)}}
	if got := j.Invalid(`{"properties":{"a":` + about + `},"type":"object"}`); !strings.Contains(got, "is the JSON schema") {
		t.Errorf("the schema is %q", got)
	}
	if got := j.Invalid(schema + ` gives {"a":"yes"}`); got != "" {
		t.Errorf("an object after the schema is %q", got)
	}
}
