package agent_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
)

func TestCheckData(t *testing.T) {
	t.Parallel()
	const nothing = `nothing to investigate: set "data", or "allow_empty": true`
	for name, tt := range map[string]struct {
		input, want string
	}{
		"no data":            {`{"chain":"c"}`, nothing},
		"null":               {`{"chain":"c","data":null}`, nothing},
		"empty":              {`{"chain":"c","data":""}`, nothing},
		"blank":              {`{"chain":"c","data":" \n\t\u00a0"}`, nothing},
		"empty object":       {`{"chain":"c","data":{ }}`, nothing},
		"JSON in a text":     {`{"chain":"c","data":"[]\n"}`, nothing},
		"empty, and allowed": {`{"chain":"c","allow_empty":true}`, ""},
		"zero":               {`{"chain":"c","data":0}`, ""},
		"as much as may be":  {`{"chain":"c","data":"12345678"}`, ""},
		"too much":           {`{"chain":"c","data":"123456789"}`, `"data" is 9 bytes, over the limit of 8 (system.limits.data)`},
		"attached":           {`{"chain":"c","data":"123456789","attach":true}`, ""},
	} {
		req, err := agent.ParseRequest([]byte(tt.input))
		if err != nil {
			t.Fatal(err)
		}
		err = req.CheckData(req.DataText(), 8)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestUseMock(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"chain":"c","use_mock":true}`:  "",
		`{"chain":"c","use_mock":"yes"}`: `"use_mock" has the JSON type string; it must be true or false`,
		`{"chain":true}`:                 `"chain" has the JSON type bool; it must be a string`,
		`{"chain":"c","use_mocks":true}`: `unknown field "use_mocks"`,
	} {
		req, err := agent.ParseRequest([]byte(input))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || req.UseMock != (err == nil) {
			t.Errorf("%s: %+v, %v", input, req, err)
		}
	}
}

// TestParseRequest checks that all problems of a request are reported at once.
func TestParseRequest(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		input string
		want  []string // none means that it is accepted
	}{
		"all of it": {input: `{"chain":"c","requested_by":"Ada","priority":2,"tenant":"acme","session":"s-1","fingerprint":"disk/web-1",
			"metadata":{"team":"db"},"budgets":{"max_llm_calls":3,"max_cost_usd":0.5,"max_duration":"10m"},
			"mcp":{"servers":[{"name":"loki","tools":["query"]}],"native_tools":{"google_search":false}}}`},
		"one name twice": {`{"by":"Ada","requested_by":"Bob"}`, []string{`"by" and "requested_by" are aliases but differ`}},
		"the same twice": {input: `{"by":"Ada","requested_by":"Ada"}`},
		"all wrong": {
			`{"priority":6,"tenant":"` + strings.Repeat("t", 65) +
				`","session":"a\u202eb","metadata":{"a b":"c"},"budgets":{"max_duration":"soon","max_passes":-1,"max_cost_usd":-0.5},
			"mcp":{"servers":[{"name":"a"},{"name":"a"},{}]}}`,
			[]string{
				`"priority" is 6`, `"tenant" is longer than 64 bytes`, `"session" has control or invisible characters`, `the key "a b"`,
				`"budgets.max_duration" is "soon"`, `"budgets" has a negative max_passes`, `negative max_cost_usd`, `names "a", which an earlier entry`,
				`the name of the server and of each tool must have`,
			},
		},
		"much metadata": {`{"metadata":{"a":"` + strings.Repeat("x", 4096) + `"}}`,
			[]string{`"metadata" is 4104 bytes of JSON; the limit is 4096`}},
		"no text":   {`{"metadata":{"a":1}}`, []string{`has the JSON type number; it must be a string`}},
		"no number": {`{"priority":"high"}`, []string{`"priority" has the JSON type string; it must be a whole number`}},
		"no object": {`{"mcp":{"servers":"loki"}}`, []string{`has the JSON type string; it must be a list`}},
		"unknown":   {`{"budgets":{"max_tokens":1}}`, []string{`unknown field "max_tokens"`}},
	} {
		req, err := agent.ParseRequest([]byte(tt.input))
		if (err == nil) != (tt.want == nil) || err == nil && req.By == "" {
			t.Errorf("%s: %+v, %v", name, req, err)
		}
		for _, want := range tt.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
}

func TestBudgetKeys(t *testing.T) {
	t.Parallel()
	var keys []string
	for field := range reflect.TypeFor[agent.Budgets]().Fields() {
		keys = append(keys, strings.TrimSuffix(field.Tag.Get("json"), ",omitempty"))
	}
	if !slices.Equal(keys, agent.BudgetKeys) {
		t.Errorf("the fields are %v", keys)
	}
}

func TestToolNames(t *testing.T) {
	t.Parallel()
	got := agent.MCPServer{Name: "loki", Tools: []string{"query", "loki.tail", "loki__push", "a.b"}}.ToolNames()
	if want := []string{"loki.query", "loki.tail", "loki.push", "loki.a.b"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestMaskedLabels checks that a value can be secret because of its key.
func TestMaskedLabels(t *testing.T) {
	t.Parallel()
	mask := func(text string) (string, error) {
		return strings.NewReplacer(`"token":"x"`, `"token":"***"`, "Ada", "***").Replace(text), nil
	}
	given := agent.Labels{Tenant: "acme", Session: "Ada's", Metadata: map[string]string{"token": "x", "other": "x"}}
	got, err := given.Masked(mask)
	want := agent.Labels{Tenant: "acme", Session: "***'s", Metadata: map[string]string{"token": "***", "other": "x"}}
	if err != nil || !reflect.DeepEqual(got, want) || given.Metadata["token"] != "x" {
		t.Errorf("got %+v, %v; given %+v", got, err, given)
	}
}
