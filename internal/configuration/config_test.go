package configuration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
)

// load loads a file's content with baseEnv and the given variables.
func load(t testing.TB, yaml string, env map[string]string) (*Config, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(name, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	all := lookupIn(baseEnv)
	return Load(Source{Dir: name, Env: func(name string) (string, bool) {
		if value, ok := env[name]; ok {
			return value, true
		}
		return all(name)
	}})
}

func TestBuiltInIsClean(t *testing.T) {
	t.Parallel()
	c, err := Load(Source{Env: lookupIn(baseEnv)})
	if err != nil || len(c.Warnings()) > 0 {
		t.Fatalf("Load = %v, warnings %v", err, c.Warnings())
	}
	want := []ChainInfo{
		{Name: "kubernetes", AlertTypes: []string{"kubernetes"}, Stages: []string{"investigate"}, BuiltIn: true},
		{Name: "sample", AlertTypes: []string{"sample-incident"}, Stages: []string{"collect", "analyse", "recommend"}, BuiltIn: true},
	}
	got := c.Chains()
	for i := range got {
		if got[i].Description == "" {
			t.Errorf("chain %s has no description", got[i].Name)
		}
		got[i].Description = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSkipCredentials(t *testing.T) {
	t.Parallel()
	c, err := Load(Source{SkipCredentials: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Plan(agent.Request{Chain: "kubernetes"}); err != nil {
		t.Error(err)
	}
}

func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	bomb := "mcp_servers:\n  m: {transport: {command: x, args: &l [" + strings.Repeat("x,", 2000) + "]}}\n"
	for i := range 300 {
		bomb += fmt.Sprintf("  m%d: {transport: {command: x, args: *l}}\n", i)
	}
	tests := map[string]struct{ yaml, want string }{
		"huge":         {"# " + strings.Repeat("x", strict.MaxFileSize), "larger than 10 MB"},
		"alias bomb":   {bomb, "more than 200000 values"},
		"merge bomb":   {"agents:\n  A: &a {<<: &l [*a, *a, *a, *l, *l, *l]}\n", "more than"},
		"deep nesting": {"agents: " + strings.Repeat("[", 20000), "exceeded max depth"},
		"huge name":    {"agents: {" + strings.Repeat("x", 1000) + ": {type: nope}}", "a name can have at most 64 characters"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, test.yaml, nil)
			var findings config.Findings
			if !errors.As(err, &findings) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("Load = %.300v, want %q", err, test.want)
			}
			for _, f := range findings {
				if len(f.String()) > 2000 {
					t.Errorf("a finding of %d bytes", len(f.String()))
				}
			}
		})
	}
}

func TestNothingToRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tests := map[string]struct {
		dir  string
		want config.Finding
	}{
		"missing": {filepath.Join(dir, "nowhere"), config.Finding{
			Severity: config.SeverityCritical, File: filepath.Join(dir, "nowhere"), Message: "no such file or directory",
		}},
		"empty": {dir, config.Finding{
			Severity: config.SeverityWarning, Message: "no *.yaml in the directory: only the built-in entries are loaded",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, findings := Check(Source{Dir: test.dir, Env: lookupIn(baseEnv)})
			if diff := cmp.Diff(config.Findings{test.want}, findings); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestTransport(t *testing.T) {
	t.Parallel()
	const yaml = `
mcp_servers:
  m:
    transport: {command: "{{.CMD}}", args: [-v], timeout: 30, env: {TOKEN: "Bearer {{.TOKEN}}", FOR: "{{.SESSION_ID}}"}}
`
	env := map[string]string{"CMD": "server"}
	c, err := load(t, yaml, env)
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range []string{"m", "nope"} {
		if got, err := c.Transport(server); err == nil {
			t.Errorf("Transport(%s) = %v without its secret", server, got)
		} else if server == "m" && !strings.Contains(err.Error(), `"m": env TOKEN: variables that are not set: TOKEN`) {
			t.Error(err)
		}
	}
	env["TOKEN"] = `s3cret "{{.CMD}}"` // read at the time of use, unchanged
	got, err := c.Transport("m")
	if err != nil {
		t.Fatal(err)
	}
	want := config.Transport{
		Type: config.TransportStdio, Command: "server", Args: []string{"-v"}, Timeout: plan.Duration(30e9),
		Env: map[string]string{"TOKEN": `Bearer s3cret "{{.CMD}}"`, "FOR": "{{.SESSION_ID}}"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestVariablesKeepStructure checks that a value reaches the plan unchanged, however it is written, and that later
// lines keep their numbers.
func TestVariablesKeepStructure(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		value := rapid.StringN(1, 50, -1).Draw(r, "value")
		scalar := rapid.SampledFrom([]string{`{{.V}}`, `"{{.V}}"`, `'{{ .V }}'`, "|-\n    {{.V}}"}).Draw(r, "scalar")
		files := []strict.File{{Name: "a.yaml", Data: []byte("defaults:\n  runbook: " + scalar + "\n  max_iteration: 5\n")}}
		env := lookupIn(map[string]string{"V": value, "OPENAI_API_KEY": "k"})
		c, findings := check(Source{Env: env}, files, strict.NewReport())
		if c.Defaults.Runbook != value {
			r.Errorf("%q became %q", value, c.Defaults.Runbook)
		}
		line := 3 + strings.Count(scalar, "\n")
		if i := len(failures(findings)) - 1; i != 0 || failures(findings)[0].Line != line {
			r.Errorf("findings %v, want one on line %d", findings, line)
		}
	})
}

func failures(fs config.Findings) (out config.Findings) {
	for _, f := range fs {
		if !f.Accepted() {
			out = append(out, f)
		}
	}
	return out
}

// TestInherit checks that inheriting in two steps equals inheriting in one, and that the last value wins.
func TestInherit(t *testing.T) {
	t.Parallel()
	level := rapid.Custom(func(r *rapid.T) settings {
		return settings{
			Provider:      rapid.SampledFrom([]string{"", "a", "b"}).Draw(r, "provider"),
			MaxIterations: rapid.SampledFrom([]*int{nil, new(0), new(1)}).Draw(r, "iterations"),
			Fallbacks:     rapid.SampledFrom([][]config.Fallback{nil, {}, {{Provider: "a"}}}).Draw(r, "fallbacks"),
			Shell:         config.Shell{Enabled: rapid.SampledFrom([]*bool{nil, new(true), new(false)}).Draw(r, "shell")},
		}
	})
	rapid.Check(t, func(r *rapid.T) {
		a, b, c := level.Draw(r, "a"), level.Draw(r, "b"), level.Draw(r, "c")
		all, from := strict.Inherit(a, b, c)
		lower, _ := strict.Inherit(a, b)
		twice, _ := strict.Inherit(lower, c)
		if diff := cmp.Diff(all, twice); diff != "" {
			r.Errorf("not associative:\n%s", diff)
		}
		if i, ok := from["max_iterations"]; ok && []settings{a, b, c}[i].MaxIterations != all.MaxIterations || ok != (all.MaxIterations != nil) {
			r.Errorf("max_iterations came from %d, %v", i, ok)
		}
		want := a.Fallbacks
		for _, l := range []settings{b, c} {
			if l.Fallbacks != nil {
				want = l.Fallbacks
			}
		}
		if diff := cmp.Diff(want, all.Fallbacks); diff != "" {
			r.Errorf("fallbacks:\n%s", diff)
		}
	})
}

// TestSplittingChangesNothing checks that a configuration may be split into files in any way.
func TestSplittingChangesNothing(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/precedence.txtar")
	if err != nil {
		t.Fatal(err)
	}
	whole := archive.Files[0].Data
	var parts []strict.File
	for line := range bytes.Lines(whole) {
		if line[0] != ' ' {
			parts = append([]strict.File{{Name: string(line) + ".yaml"}}, parts...) // also in another order
		}
		parts[0].Data = append(parts[0].Data, line...)
	}
	if len(parts) < 4 {
		t.Fatalf("only %d parts", len(parts))
	}
	one, findings := check(Source{Env: lookupIn(baseEnv)}, []strict.File{{Name: "a.yaml", Data: whole}}, strict.NewReport())
	many, more := check(Source{Env: lookupIn(baseEnv)}, parts, strict.NewReport())
	if findings.Failed() || more.Failed() {
		t.Fatal(findings, more)
	}
	for _, chain := range one.Chains() {
		a, errA := one.Plan(agent.Request{Chain: chain.Name})
		b, errB := many.Plan(agent.Request{Chain: chain.Name})
		a.Bounds.Origins, b.Bounds.Origins = nil, nil // they contain file names
		if diff := cmp.Diff(a, b); diff != "" || errA != nil || errB != nil {
			t.Errorf("chain %s: %v, %v\n%s", chain.Name, errA, errB, diff)
		}
	}
}

// FuzzLoad checks that no input panics, that every error is Findings, and that an accepted configuration can be
// planned, shown and loaded again.
func FuzzLoad(f *testing.F) {
	for _, name := range fixtures(f) {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if filepath.Ext(file.Name) == ".yaml" {
				f.Add(file.Data, []byte("V=x"))
			}
		}
	}
	for _, entry := range builtInFiles() {
		f.Add(entry.Data, []byte("A='b'\nC=${A}"))
	}
	f.Fuzz(func(t *testing.T, yaml, dotenv []byte) {
		files := []strict.File{{Name: dotenvName, Data: dotenv}, {Name: "a.yaml", Data: yaml}}
		c, findings := check(Source{Env: lookupIn(baseEnv)}, files, strict.NewReport())
		for _, finding := range findings {
			if finding.Message == "" || !utf8.ValidString(finding.String()) {
				t.Errorf("finding %+v", finding)
			}
		}
		for _, chain := range c.Chains() {
			p, err := c.Plan(agent.Request{Chain: chain.Name})
			var refused *PlanError
			if err != nil && !errors.As(err, &refused) {
				t.Errorf("plan of %s: %T", chain.Name, err)
			}
			if err == nil {
				checkPlan(t, p)
			}
		}
		if shown, _, err := Show(c, ShowOptions{Secrets: true}); err == nil {
			second := []strict.File{{Name: dotenvName, Data: dotenv}, {Name: "a.yaml", Data: shown}}
			if _, more := check(Source{Env: lookupIn(baseEnv)}, second, strict.NewReport()); more.Failed() {
				t.Errorf("shown, it is refused: %v\n%s", more, shown)
			}
		} else if !findings.Failed() {
			t.Error(err)
		}
		for server := range c.MCPServers {
			if _, err := c.Transport(server); err != nil && strings.Contains(err.Error(), baseEnv["OPENAI_API_KEY"]) {
				t.Error(err)
			}
		}
	})
}

// checkPlan checks the guarantees of every plan.
func checkPlan(t *testing.T, p plan.Plan) {
	if len(p.Stages) == 0 {
		t.Error("no stages")
	}
	for _, stage := range p.Stages {
		names := map[string]bool{}
		for _, a := range stage.Agents {
			names[a.Name] = true
			if len(a.Providers) == 0 || a.Providers[0].Type == "" || a.MaxIterations < 1 || a.LLMBackend == "" ||
				a.Timeouts.Iteration <= 0 || a.Timeouts.Tool <= 0 || a.Compression.Threshold <= 0 {
				t.Errorf("agent %+v", a)
			}
		}
		if len(names) != len(stage.Agents) || len(names) == 0 || (stage.Synthesis != nil) != (len(names) > 1) {
			t.Errorf("stage %+v", stage)
		}
	}
}

// TestFindingsAreCapped checks that of a thousand findings the first are listed, errors before warnings, and the rest
// are counted.
func TestFindingsAreCapped(t *testing.T) {
	t.Parallel()
	var yaml strings.Builder
	yaml.WriteString("queue: {poll_interval: 1s}\n")
	for i := range 1000 {
		fmt.Fprintf(&yaml, "x%d: {}\n", i)
	}
	_, err := load(t, yaml.String(), nil)
	var findings config.Findings
	if !errors.As(err, &findings) || len(findings) != strict.MaxFindings+1 || len(failures(findings)) != strict.MaxFindings+1 {
		t.Fatalf("%d findings, %d failures", len(findings), len(failures(findings)))
	}
	last := config.Finding{Severity: config.SeverityError, Message: "further findings: 801"}
	if diff := cmp.Diff(last, findings[strict.MaxFindings]); diff != "" || findings[0].Line != 2 {
		t.Errorf("first %v, last:\n%s", findings[0], diff)
	}
}
