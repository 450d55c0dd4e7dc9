package agent_test

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
)

func TestCheckData(t *testing.T) {
	t.Parallel()
	const nothing = `there is nothing to investigate: give "data", or "allow_empty": true`
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
		"too much":           {`{"chain":"c","data":"123456789"}`, `"data" is 9 bytes, and system.limits.data is 8`},
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
