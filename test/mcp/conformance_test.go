package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/npmtest"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
)

// envScenario is set by the protocol's conformance suite: the process is then the client that it tests.
const envScenario = "MCP_CONFORMANCE_SCENARIO"

// arguments are those of the tools of the suite.
var arguments = map[string]string{"s.add_numbers": `{"a":5,"b":3}`}

// beClient lists the tools of the suite's server and calls each once. It fails as our callers would.
func beClient(url string) error {
	transport := func(string) (mcp.Transport, error) { return mcp.Transport{Type: mcp.HTTP, URL: url}, nil }
	pool := mcp.New(mcp.Options{Transport: transport, Elicit: true})
	defer pool.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	specs, err := pool.List(ctx, plan.Server{Name: "s"}, "")
	if err != nil {
		return err
	}
	for n, spec := range specs {
		args := json.RawMessage("{}")
		if known, ok := arguments[spec.Name]; ok {
			args = json.RawMessage(known)
		}
		accept := func(context.Context, tool.Question) (json.RawMessage, bool) { return json.RawMessage("{}"), true }
		result, err := pool.Call(ctx, tool.Call{Name: spec.Name, Arguments: args, Key: fmt.Sprintf("e/1/%d", n), Ask: accept})
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s %s\n", spec.Name, result.Status, result.Content)
	}
	return nil
}

// authorized are the scenarios of the suite in which the client gets an OAuth token, most of them with a person's browser.
// Ours shows people where tokens come from instead, and is given one by its configuration.
var authorized = []string{
	"auth/metadata-default", "auth/metadata-var1", "auth/metadata-var2", "auth/metadata-var3", "auth/scope-from-www-authenticate",
	"auth/scope-from-scopes-supported", "auth/token-endpoint-auth-basic", "auth/pre-registration", "auth/client-credentials-basic",
}

// The client passes those scenarios of the protocol's own suite that need no OAuth token.
func TestConformance(t *testing.T) {
	t.Parallel()
	dir := npmtest.Folder(t, "../../internal/api/testdata/mcp")
	play := func(t *testing.T, scenario string) (said string, err error) {
		cmd := exec.CommandContext(t.Context(), "node", "--import", "./node20.mjs",
			"node_modules/@modelcontextprotocol/conformance/dist/index.js",
			"client", "--command", os.Args[0], "--scenario", scenario, "-o", t.TempDir())
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	passed := map[string]int{"initialize": 1, "tools_call": 1, "sse-retry": 3, "elicitation-sep1034-client-defaults": 5}
	for scenario, checks := range passed {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			said, err := play(t, scenario)
			if want := fmt.Sprintf("Passed: %d/%d, 0 failed, 0 warnings", checks, checks); err != nil || !strings.Contains(said, want) {
				t.Errorf("%v; want %s\n%s", err, want, said)
			}
		})
	}
	for _, scenario := range authorized {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			said, err := play(t, scenario)
			if err == nil {
				t.Errorf("it passes by now:\n%s", said)
			}
			if !shown.MatchString(said) {
				t.Errorf("people are not told where tokens come from:\n%s", said)
			}
		})
	}
}

var shown = regexp.MustCompile(`it answered 401 Unauthorized: .*\. It wants an OAuth token( with the scope "[^"]+")?\. ` +
	`http://localhost:\d+/\S+ says which server issues them\. Set the token as transport\.bearer_token`)
