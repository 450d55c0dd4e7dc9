package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/llm/openai"
)

// concluding returns a request whose tools must not be called, so it has the tool choice "none".
func concluding(model string) llm.Request {
	return llm.Request{Model: model, Withheld: []llm.Tool{{Name: "f"}}, Messages: []agent.Message{{Role: agent.User, Content: "Go."}}}
}

func learner(t *testing.T, srv *llmtest.Server) llm.Client {
	t.Helper()
	client, err := openai.New(llm.Options{Name: "p", BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

const bedrockSays = "Bedrock doesn't support tool_choice=none. To drop it from the call, set `litellm.drop_params = True."

func refuse(status int, words string) llmtest.Reply {
	return llmtest.Refuse(status, "invalid_request_error", words)
}

// choices returns the tool choices of the requests that a server has received.
func choices(t *testing.T, srv *llmtest.Server) (out []string) {
	t.Helper()
	for _, r := range srv.Requests() {
		var body struct {
			Choice string `json:"tool_choice"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		out = append(out, r.Model+" "+body.Choice)
	}
	return out
}

// TestLearned checks that a refused field is omitted, now and later, and only for the model whose server refused it.
func TestLearned(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, func(req llmtest.Request) llmtest.Reply {
		if req.Model == "bedrock" && strings.Contains(string(req.Body), `"tool_choice"`) {
			return refuse(http.StatusBadRequest, bedrockSays)
		}
		return llmtest.Text("ok")
	})
	client := learner(t, srv)
	for _, model := range []string{"bedrock", "other", "bedrock"} {
		if _, err := client.Generate(t.Context(), concluding(model), nil); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"bedrock none", "bedrock ", "other none", "bedrock "}, choices(t, srv)); diff != "" {
		t.Errorf("tool choices (-want +got):\n%s", diff)
	}
}

// TestLearnedOnlyFromSuccess checks that nothing is learned if the server also refuses the changed request, or if the
// answer is about something else.
func TestLearnedOnlyFromSuccess(t *testing.T) {
	t.Parallel()
	for name, refusals := range map[string][]llmtest.Reply{
		"the changed request fails": {refuse(400, bedrockSays), refuse(503, "overloaded")},
		"an outage":                 {refuse(503, bedrockSays)},
		"a limit":                   {refuse(429, bedrockSays)},
		"a refused key":             {refuse(401, bedrockSays)},
		"other words":               {refuse(400, "tool_choice: field required")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			srv := llmtest.Start(t, func(llmtest.Request) llmtest.Reply {
				if n++; n <= len(refusals) {
					return refusals[n-1]
				}
				return llmtest.Text("ok")
			})
			client := learner(t, srv)
			if _, err := client.Generate(t.Context(), concluding("m"), nil); err == nil {
				t.Fatal("no error")
			}
			if _, err := client.Generate(t.Context(), concluding("m"), nil); err != nil {
				t.Fatal(err)
			}
			asked := choices(t, srv)
			if len(asked) != len(refusals)+1 || asked[len(asked)-1] != "m none" {
				t.Errorf("tool choices: %q", asked)
			}
		})
	}
}

// TestLearnedEndlessly checks that a server that names a lower limit each time ends the request after a few refusals.
func TestLearnedEndlessly(t *testing.T) {
	t.Parallel()
	limit := 100_000
	srv := llmtest.Start(t, func(llmtest.Request) llmtest.Reply {
		limit--
		return refuse(400, fmt.Sprintf("Invalid max_tokens value, the valid range of max_tokens is [1, %d]", limit))
	})
	req := concluding("m")
	req.MaxTokens = 200_000
	if _, err := learner(t, srv).Generate(t.Context(), req, nil); err == nil {
		t.Fatal("no error")
	}
	if asked := len(srv.Requests()); asked > 20 {
		t.Errorf("%d requests", asked)
	}
}

// TestLearnedIsReported checks that a reply names what its request omitted.
func TestLearnedIsReported(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, func(req llmtest.Request) llmtest.Reply {
		switch {
		case len(req.Tools) > 2:
			return refuse(400, "'tools' : maximum number of items is 2")
		case req.MaxTokens > 8192:
			return refuse(422, "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]")
		}
		return llmtest.Text("ok")
	})
	client := learner(t, srv)
	req := llm.Request{Model: "m", MaxTokens: 10_000, Tools: []llm.Tool{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		Messages: []agent.Message{{Role: agent.User, Content: "Go."}}}
	want := []llm.Omission{{Tool: "c", Why: "the provider accepts at most 2 tools", Limit: true},
		{Why: "max_tokens is 8192 instead of 10000 because the provider accepts no more"}}
	for range 2 {
		got, err := client.Generate(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Omitted); diff != "" {
			t.Errorf("omitted (-want +got):\n%s", diff)
		}
	}
	if asked := len(srv.Requests()); asked != 4 {
		t.Errorf("%d requests, want 4: two refusals and two replies", asked)
	}
}
