//go:build unix

// Package packs compares the toolset packs with their MCP servers. It starts every server that is in npm or the Go proxy. For that,
// it needs node, npm, go and PostgreSQL, and, for the first run, the network. package.json pins zod to the version that npx gives to
// the server of elasticsearch, which does not declare that it needs zod.
package packs

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/npmtest"
	"github.com/inquest-dev/inquest/internal/knowledge/pack"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: none
contexts: [{name: none, context: {cluster: none, user: none}}]
clusters: [{name: none, cluster: {server: %q}}]
users: [{name: none, user: {}}]
`

// dbhub is the user's file for the pack postgresql.
const dbhub = `[[sources]]
id = "main"
dsn = %q
lazy = true

[[tools]]
name = "search_objects"
source = "main"

[[tools]]
name = "execute_sql"
source = "main"
readonly = %t
`

// hosted are the packs whose server cannot be started here, with the reason. Nothing here has the schemas of their tools, so their
// health checks are only compared with the pack itself, by the tests of internal/knowledge/pack.
var hosted = map[string]string{
	"aws": "PyPI", "datadog": "the vendor", "github": "the vendor", "jira": "the vendor", "opensearch": "PyPI", "pagerduty": "the vendor",
}

// undeclared are the servers that do not declare which tools only read. Their list is the whole offer of the pinned version.
var undeclared = []string{"elasticsearch"}

func TestPacks(t *testing.T) {
	t.Parallel()
	modules := installed(t)
	for _, p := range pack.All() {
		if reason, ok := hosted[p.Name]; ok {
			if p.NPM != "" || p.Go != "" {
				t.Errorf("%s: its server is started here, although %s hosts it", p.Name, reason)
			}
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			behind := nowhere
			if p.Name == "slack" { // it lists no tools before Slack answers
				behind = startSystem(t, p)
			}
			transport := start(t, modules, p, behind, true)
			specs := list(t, transport)
			checkCalls(t, p, specs)
			if p.Name == "slack" {
				checkDemo(t, p, transport)
			}
			offered := risks(specs)
			var names []string
			for name := range offered {
				names = append(names, name)
			}
			slices.Sort(names)
			for _, name := range p.Tools {
				risk, ok := offered[name]
				switch {
				case !ok:
					t.Errorf("the server has no tool %s; it offers %v", name, names)
				case risk != agent.RiskReadOnly && !slices.Contains(undeclared, p.Name):
					t.Errorf("%s can change something: its risk is %s", name, risk)
				}
			}
			if slices.Contains(undeclared, p.Name) && !slices.Equal(names, p.Tools) {
				t.Errorf("the server offers %v, and the pack lists %v: look at each tool", names, p.Tools)
			}
		})
	}
}

// The list of the pack postgresql depends on the user's file: without readonly, the server declares that execute_sql writes.
func TestDeclared(t *testing.T) {
	t.Parallel()
	p, _ := pack.Named("postgresql")
	specs := list(t, start(t, installed(t), p, nowhere, false))
	if got := risks(specs)["execute_sql"]; !p.Declared || got == agent.RiskReadOnly {
		t.Errorf("execute_sql has the risk %q without readonly", got)
	}
}

// checkCalls checks that the real server accepts the arguments of the health check and of the demo's calls as they are.
func checkCalls(t *testing.T, p pack.Pack, specs []tool.Spec) {
	t.Helper()
	own := plan.Agent{Servers: []plan.Server{{Name: "s"}}}
	catalogues := []tool.Catalogue{{Server: "s", Tools: specs}}
	set := tool.NewPolicy(nil).Tools(agent.Type{Pattern: agent.Iterating}, own, catalogues, nil)
	demo, _ := p.Demo()
	for _, call := range append(demo.Calls, pack.Call{Tool: p.Check.Tool, Arguments: p.Check.Arguments}) {
		if d, err := set.Decide("s."+call.Tool, call.Arguments); err != nil || len(d.Coerced) > 0 {
			t.Errorf("the server's schema of %s does not accept %s: %v %q", call.Tool, call.Arguments, err, d.Coerced)
		}
	}
}

// checkDemo checks that the results in a demo are those of the real server.
func checkDemo(t *testing.T, p pack.Pack, transport mcp.Transport) {
	t.Helper()
	pool := connect(t, transport)
	demo, _ := p.Demo()
	for _, call := range demo.Calls {
		got, err := pool.Call(t.Context(), tool.Call{Name: "s." + call.Tool, Arguments: []byte(call.Arguments), Class: tool.Safe})
		if err != nil || got.Status != tool.StatusSuccess || strings.TrimSpace(got.Content) != strings.TrimSpace(call.Result) {
			t.Errorf("%s: %v\n%s\nThe demo has:\n%s", call.Tool, err, got.Content, call.Result)
		}
	}
}

// risks returns the risk of each tool.
func risks(specs []tool.Spec) map[string]agent.Risk {
	all := map[string]agent.Risk{}
	for _, spec := range specs {
		all[strings.TrimPrefix(spec.Name, "s.")] = spec.Risk
	}
	return all
}

// installed returns the folder of the servers' npm packages.
func installed(t *testing.T) string {
	t.Helper()
	dir, err := npmtest.Install(".")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "node_modules")
}

// connect returns a pool with one server.
func connect(t *testing.T, to mcp.Transport) *mcp.Pool {
	t.Helper()
	pool := mcp.New(mcp.Options{Transport: func(string) (mcp.Transport, error) { return to, nil }, CheckAfter: time.Minute})
	t.Cleanup(pool.Close)
	return pool
}

// list returns the tools that a server lists, with the risks that it declares.
func list(t *testing.T, transport mcp.Transport) []tool.Spec {
	t.Helper()
	specs, err := connect(t, transport).List(t.Context(), plan.Server{Name: "s", TrustAnnotations: true}, "")
	if err != nil {
		t.Fatal(err)
	}
	return specs
}

var variable = regexp.MustCompile(`{{\.(\w+)}}`)

// start returns the transport of a pack's server in front of a system. readOnly is the setting of dbhub.
func start(t *testing.T, modules string, p pack.Pack, behind system, readOnly bool) mcp.Transport {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	values := map[string]string{}
	for _, v := range p.Variables {
		values[v.Name] = "xoxp-none" // the server of slack reads the prefix
		if v.Address {
			values[v.Name] = behind.address
		}
	}
	expand := func(text string) string {
		return variable.ReplaceAllStringFunc(text, func(found string) string { return values[variable.FindStringSubmatch(found)[1]] })
	}
	env := map[string]string{"KUBECONFIG": write("kubeconfig", fmt.Sprintf(kubeconfig, behind.address))}
	maps.Copy(env, behind.env)
	transport := mcp.Transport{Type: mcp.Stdio, Env: env}
	for name, value := range p.Env {
		transport.Env[name] = expand(value)
	}
	for _, arg := range p.Args {
		if arg == p.File.Name {
			arg = write(arg, fmt.Sprintf(dbhub, behind.address, readOnly))
		}
		transport.Args = append(transport.Args, expand(arg))
	}
	if p.Go != "" {
		transport.Command = goProgram(t, p.Go)
		return transport
	}
	transport.Command = npmProgram(t, modules, p.NPM)
	return transport
}

// npmProgram returns the program of a package in modules, which must have the pack's version.
func npmProgram(t *testing.T, modules, npm string) string {
	t.Helper()
	name, version := npm[:strings.LastIndex(npm, "@")], npm[strings.LastIndex(npm, "@")+1:]
	text, err := os.ReadFile(filepath.Join(modules, name, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var installed struct {
		Version string
		Bin     json.RawMessage
	}
	if err := json.Unmarshal(text, &installed); err != nil || installed.Version != version {
		t.Fatalf("package.json of this folder has %s %s, and the pack %s: %v", name, installed.Version, version, err)
	}
	bins := map[string]string{}
	if json.Unmarshal(installed.Bin, &bins) != nil { // a package with one program
		return filepath.Join(modules, ".bin", path.Base(name))
	}
	program := path.Base(name)
	if bins[program] == "" { // npx runs the only program, whatever its name
		for program = range bins {
		}
	}
	return filepath.Join(modules, ".bin", program)
}

// goProgram builds a program at its version in the user's cache.
func goProgram(t *testing.T, program string) string {
	t.Helper()
	caches, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(caches, "inquest", fmt.Sprintf("go-%x", sha256.Sum256([]byte(program)))[:24])
	file := filepath.Join(dir, path.Base(program[:strings.LastIndex(program, "@")]))
	if _, err := os.Stat(file); err == nil {
		return file
	}
	cmd := exec.CommandContext(t.Context(), "go", "install", program)
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=-mod=mod")
	cmd.Dir = t.TempDir() // outside this module
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go install %s: %v\n%s", program, err, bytes.TrimSpace(out))
	}
	return file
}
