//go:build unix

// Package packs compares the toolset packs with their MCP servers. It starts every server that is in npm or the Go proxy. For that,
// it needs node, npm and go, and, for the first run, the network.
package packs

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/npmtest"
	"github.com/inquest-dev/inquest/internal/kit/processtest"
	"github.com/inquest-dev/inquest/internal/knowledge/pack"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: none
contexts: [{name: none, context: {cluster: none, user: none}}]
clusters: [{name: none, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: none, user: {}}]
`

// dbhub is the user's file for the pack postgresql. Nothing connects to the database before a query.
const dbhub = `[[sources]]
id = "main"
dsn = "postgres://reader:none@127.0.0.1:1/none"
lazy = true

[[tools]]
name = "search_objects"
source = "main"

[[tools]]
name = "execute_sql"
source = "main"
readonly = %t
`

// hosted are the packs whose server cannot be started here, with the reason.
var hosted = map[string]string{
	"aws": "PyPI", "datadog": "the vendor", "github": "the vendor", "jira": "the vendor", "opensearch": "PyPI", "pagerduty": "the vendor",
}

// undeclared are the servers that do not declare which tools only read. Their list is the whole offer of the pinned version.
var undeclared = []string{"elasticsearch"}

func TestPacks(t *testing.T) {
	t.Parallel()
	modules, err := npmtest.Install(".")
	if err != nil {
		t.Fatal(err)
	}
	modules = filepath.Join(modules, "node_modules")
	for _, p := range pack.All() {
		if reason, ok := hosted[p.Name]; ok {
			if p.NPM != "" || p.Go != "" {
				t.Errorf("%s: its server is started here, although %s hosts it", p.Name, reason)
			}
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			specs := list(t, start(t, modules, p, true))
			if p.Name != "elasticsearch" { // it lists empty schemas here, where it shares a version of zod that npx does not give it
				checkDemo(t, p, specs)
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
	modules, err := npmtest.Install(".")
	if err != nil {
		t.Fatal(err)
	}
	p, _ := pack.Named("postgresql")
	specs := list(t, start(t, filepath.Join(modules, "node_modules"), p, false))
	if got := risks(specs)["execute_sql"]; !p.Declared || got == agent.RiskReadOnly {
		t.Errorf("execute_sql has the risk %q without readonly", got)
	}
}

// checkDemo checks that the real server accepts the calls of the recorded demo as they are.
func checkDemo(t *testing.T, p pack.Pack, specs []tool.Spec) {
	t.Helper()
	own := plan.Agent{Servers: []plan.Server{{Name: "s"}}}
	catalogues := []tool.Catalogue{{Server: "s", Tools: specs}}
	set := tool.NewPolicy(nil).Tools(agent.Type{Pattern: agent.Iterating}, own, catalogues, nil)
	demo, _ := p.Demo()
	for _, call := range demo.Calls {
		if d, err := set.Decide("s."+call.Tool, call.Arguments); err != nil || len(d.Coerced) > 0 {
			t.Errorf("the server's schema of %s does not accept %s: %v %q", call.Tool, call.Arguments, err, d.Coerced)
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

// list returns the tools that a server lists, with the risks that it declares.
func list(t *testing.T, transport mcp.Transport) []tool.Spec {
	t.Helper()
	pool := mcp.New(mcp.Options{Transport: func(string) (mcp.Transport, error) { return transport, nil }, CheckAfter: time.Minute})
	t.Cleanup(pool.Close)
	specs, err := pool.List(t.Context(), plan.Server{Name: "s", TrustAnnotations: true}, "")
	if err != nil {
		t.Fatal(err)
	}
	return specs
}

var variable = regexp.MustCompile(`{{\.(\w+)}}`)

// start returns the transport of a pack's server, with values that lead nowhere. readOnly is the setting of dbhub.
func start(t *testing.T, modules string, p pack.Pack, readOnly bool) mcp.Transport {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	values := map[string]string{"SLACK_MCP_XOXP_TOKEN": "demo"}
	for _, v := range p.Variables {
		switch {
		case values[v.Name] != "":
		case v.Address:
			values[v.Name] = "http://127.0.0.1:1"
		default:
			values[v.Name] = "none"
		}
	}
	expand := func(text string) string {
		return variable.ReplaceAllStringFunc(text, func(found string) string { return values[variable.FindStringSubmatch(found)[1]] })
	}
	transport := mcp.Transport{Type: mcp.Stdio, Env: map[string]string{"KUBECONFIG": write("kubeconfig", kubeconfig)}}
	for name, value := range p.Env {
		transport.Env[name] = expand(value)
	}
	for _, arg := range p.Args {
		if arg == p.File.Name {
			arg = write(arg, fmt.Sprintf(dbhub, readOnly))
		}
		transport.Args = append(transport.Args, expand(arg))
	}
	if p.Go != "" {
		transport.Command = goProgram(t, p.Go)
		return transport
	}
	transport.Command = npmProgram(t, modules, p.NPM)
	if p.Name == "slack" { // over stdio, it answers nothing before Slack does
		return overHTTP(t, transport)
	}
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

// overHTTP starts a server that also speaks HTTP, and waits until it listens.
func overHTTP(t *testing.T, stdio mcp.Transport) mcp.Transport {
	t.Helper()
	address, err := processtest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), stdio.Command, "--transport", "http")
	cmd.Env = append(os.Environ(), "SLACK_MCP_PORT="+address[strings.LastIndex(address, ":")+1:])
	for name, value := range stdio.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the program of npm starts the server as another process
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	url := "http://" + address + "/mcp"
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) { // npm's program does not print when it listens
		response, err := http.Get(url)
		if err == nil {
			response.Body.Close()
			return mcp.Transport{Type: mcp.HTTP, URL: url}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not listen: %v", err)
		}
	}
}
