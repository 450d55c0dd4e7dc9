package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/kit/npmtest"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
)

// envScenario is set by the protocol's conformance suite: the process is then the client that it tests.
const envScenario = "MCP_CONFORMANCE_SCENARIO"

// envToken is the token that this client's configuration has.
const envToken = "MCP_CONFORMANCE_TOKEN"

// arguments are those of the tools of the suite.
var arguments = map[string]string{"s.add_numbers": `{"a":5,"b":3}`}

// beClient lists the tools of the suite's server and calls each once. It fails as our callers would.
func beClient(url string) error {
	transport := func(string) (mcp.Transport, error) {
		return mcp.Transport{Type: mcp.HTTP, URL: url, BearerToken: os.Getenv(envToken)}, nil
	}
	pool := mcp.New(mcp.Options{Transport: transport, Elicit: true})
	defer pool.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
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

// authorization is a scenario of the suite in which the client gets an OAuth token. Inquest has no OAuth flow: it shows
// people the authorization server, and uses the token in its configuration.
type authorization struct {
	passed, checks int    // of the suite
	scope          string // that people are told to ask for
	unnamed        bool   // the client names no authorization server
	why            string // some checks do not pass, or all do
}

// The reasons why checks of a flow do not pass. The check that passes in them is that the client reads the document in
// which the server names its authorization server.
const (
	browser = "a person allows access in a browser, which a worker does not have"
	machine = "the client gets tokens with credentials of its own, which the configuration does not hold"
)

var authorizations = map[string]authorization{
	"auth/metadata-default":                     {passed: 1, checks: 5, why: browser},
	"auth/metadata-var1":                        {passed: 1, checks: 5, why: browser},
	"auth/metadata-var2":                        {passed: 1, checks: 5, why: browser},
	"auth/metadata-var3":                        {passed: 1, checks: 5, why: browser},
	"auth/basic-cimd":                           {passed: 1, checks: 2, why: browser},
	"auth/scope-from-www-authenticate":          {passed: 1, checks: 2, scope: "mcp:basic", why: browser},
	"auth/scope-from-scopes-supported":          {passed: 1, checks: 2, why: browser},
	"auth/scope-omitted-when-undefined":         {passed: 1, checks: 2, why: browser},
	"auth/scope-step-up":                        {passed: 1, checks: 3, scope: "mcp:basic", why: browser},
	"auth/scope-retry-limit":                    {passed: 1, checks: 2, scope: "mcp:admin", why: browser},
	"auth/token-endpoint-auth-basic":            {passed: 1, checks: 4, why: browser},
	"auth/token-endpoint-auth-post":             {passed: 1, checks: 4, why: browser},
	"auth/token-endpoint-auth-none":             {passed: 1, checks: 4, why: browser},
	"auth/pre-registration":                     {passed: 1, checks: 2, why: browser},
	"auth/2025-03-26-oauth-metadata-backcompat": {passed: 1, checks: 4, why: browser},
	"auth/2025-03-26-oauth-endpoint-fallback": {passed: 0, checks: 3, unnamed: true,
		why: browser + ", and the server publishes no document"},
	"auth/resource-mismatch": {passed: 2, checks: 2, unnamed: true,
		why: "the document is about another server, so the client must not follow it"},
	"auth/offline-access-scope":           {passed: 1, checks: 2, why: browser},
	"auth/offline-access-not-supported":   {passed: 1, checks: 2, why: browser},
	"auth/client-credentials-jwt":         {passed: 1, checks: 2, why: machine},
	"auth/client-credentials-basic":       {passed: 1, checks: 2, why: machine},
	"auth/cross-app-access-complete-flow": {passed: 1, checks: 3, why: machine},
}

// suite is the protocol's own conformance suite.
type suite struct{ dir string }

func newSuite(t *testing.T) suite {
	t.Helper()
	return suite{npmtest.Folder(t, "../../internal/face/api/testdata/mcp")}
}

func (s suite) run(t *testing.T, env []string, args ...string) (said string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", append([]string{"--import", "./node20.mjs",
		"node_modules/@modelcontextprotocol/conformance/dist/index.js"}, args...)...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s suite) play(t *testing.T, scenario string, env ...string) (said string, err error) {
	t.Helper()
	return s.run(t, env, "client", "--command", os.Args[0], "--scenario", scenario, "--timeout", "150000", "-o", t.TempDir())
}

// TestConformance plays every client scenario of the suite. The client passes those without OAuth. In the others it
// passes the checks that need no flow, and names the authorization server.
func TestConformance(t *testing.T) {
	t.Parallel()
	suite := newSuite(t)
	plain := map[string]int{"initialize": 1, "tools_call": 1, "sse-retry": 3, "elicitation-sep1034-client-defaults": 5}
	for scenario, checks := range plain {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			said, err := suite.play(t, scenario)
			if want := fmt.Sprintf("Passed: %d/%d, 0 failed, 0 warnings", checks, checks); err != nil || !strings.Contains(said, want) {
				t.Errorf("%v; want %s\n%s", err, want, said)
			}
		})
	}
	for scenario, tc := range authorizations {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			said, err := suite.play(t, scenario)
			want := fmt.Sprintf("Passed: %d/%d, %d failed, 0 warnings", tc.passed, tc.checks, tc.checks-tc.passed)
			if (err == nil) != (tc.passed == tc.checks) || !strings.Contains(said, want) {
				t.Errorf("%v; want %s: %s\n%s", err, want, tc.why, said)
			}
			scope := ""
			if tc.scope != "" {
				scope = fmt.Sprintf(" with the scope %q", tc.scope)
			}
			advice := `Get an OAuth token` + scope + ` from http://localhost:\d+\S* \(see http://localhost:\d+/\S+\), ` +
				`and set it as transport\.bearer_token`
			if tc.unnamed {
				advice = `Set transport\.bearer_token or transport\.custom_headers`
			}
			if !regexp.MustCompile(`it answered 401 Unauthorized: .*\. It requires authorization\. ` + advice).MatchString(said) {
				t.Errorf("people are not told %s:\n%s", advice, said)
			}
		})
	}
	t.Run("every scenario has a row", func(t *testing.T) {
		t.Parallel()
		said, err := suite.run(t, nil, "list", "--client")
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		rows := slices.Sorted(maps.Keys(plain))
		rows = append(rows, slices.Sorted(maps.Keys(authorizations))...)
		var listed []string
		for _, line := range regexp.MustCompile(`(?m)^ +- (\S+)`).FindAllStringSubmatch(said, -1) {
			listed = append(listed, line[1])
		}
		slices.Sort(rows)
		slices.Sort(listed)
		if diff := cmp.Diff(rows, listed); diff != "" {
			t.Errorf("the suite has other scenarios than the tables (-tables +suite):\n%s", diff)
		}
	})
}

// TestConformanceWithToken checks that a server with authorization serves a client whose configuration has its token.
func TestConformanceWithToken(t *testing.T) {
	t.Parallel()
	said, _ := newSuite(t).play(t, "auth/metadata-default", envToken+"=test-token")
	for _, want := range []string{"Client provided valid bearer token", "Sent 200 response for POST /mcp (method: tools/call)"} {
		if !strings.Contains(said, want) || strings.Contains(said, "Client exited") {
			t.Errorf("want %s:\n%s", want, said)
		}
	}
}
