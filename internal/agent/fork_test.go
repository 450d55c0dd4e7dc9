package agent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
)

// The errors about texts of a fork name the text, and not its content.
func TestTextsOfAFork(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 600)
	many := map[string]string{}
	for range 51 {
		many[strings.Repeat("y", len(many))] = "text"
	}
	for name, tt := range map[string]struct {
		fork agent.Fork
		want string
	}{
		"guidance":        {agent.Fork{Guide: strings.Repeat("x", agent.MaxGuide+1)}, `"guide" is longer than 16384 bytes`},
		"an empty prompt": {agent.Fork{Prompts: map[string]string{"A": " \n"}}, `"prompts": the text for "A" is empty`},
		"a long prompt": {
			agent.Fork{Prompts: map[string]string{"A": strings.Repeat("x", 65537)}}, `"prompts": the text for "A" is longer than 65536 bytes`,
		},
		"a long result": {
			agent.Fork{Results: map[string]string{"5": strings.Repeat("x", 524289)}}, `"results": the text for "5" is longer than 524288 bytes`,
		},
		"a long name": {agent.Fork{Results: map[string]string{long: ""}}, `"results" is longer than 512 bytes`},
		"many":        {agent.Fork{Results: many}, `"results" has 51 texts; the maximum is 50`},
	} {
		tt.fork.Of = "one"
		err := agent.Request{Fork: &tt.fork}.Validate()
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), long) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ok := agent.Fork{Of: "one", Results: map[string]string{"5": ""}, Prompts: map[string]string{"": "x"}}
	if err := (agent.Request{Fork: &ok}).Validate(); err != nil {
		t.Error(err)
	}
	failed := errors.New("no masking")
	out, err := ok.Masked(func(text string) (string, error) { return "masked", failed })
	if !errors.Is(err, failed) || ok.Prompts[""] != "x" || out.Prompts[""] != "masked" {
		t.Errorf("%v, %+v, %+v", err, ok, out)
	}
}
