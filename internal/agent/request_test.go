package agent_test

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
)

func TestUseMock(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"chain":"c","use_mock":true}`:  "",
		`{"chain":"c","use_mock":"yes"}`: `"use_mock" is of the JSON type string, not true or false`,
		`{"chain":true}`:                 `"chain" is of the JSON type bool, not a string`,
		`{"chain":"c","use_mocks":true}`: `unknown field "use_mocks"`,
	} {
		req, err := agent.ParseRequest([]byte(input))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || req.UseMock != (err == nil) {
			t.Errorf("%s: %+v, %v", input, req, err)
		}
	}
}
