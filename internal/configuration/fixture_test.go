package configuration

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/goldentest"
	"github.com/inquest-dev/inquest/internal/plan"
)

// TestFixtures checks every testdata/*.txtar; testdata/rules/*.txtar, which has a file for every rule; and
// testdata/tarsy/*.txtar, the configurations of TARSy's end-to-end tests. The files of an archive are a configuration, and:
//
//	env       NAME=value lines; -NAME takes away one that baseEnv has
//	code      hooks=names and mocks=names of what the program has registered
//	request   field=value lines of the agent.Request to plan
//	findings  what Check must say
//	plan      what Plan must return, as JSON, or its error
//	show      chain=name: what to show
//	shown     what Show must write
func TestFixtures(t *testing.T) {
	t.Parallel()
	for _, name := range fixtures(t) {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			runFixture(t, name, archive)
		})
	}
}

func fixtures(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/*.txtar")
	inFolders, folderErr := filepath.Glob("testdata/[rt]*/*.txtar")
	if err != nil || folderErr != nil || len(names) == 0 || len(inFolders) == 0 {
		t.Fatalf("no fixtures: %v, %v", err, folderErr)
	}
	return append(names, inFolders...)
}

func runFixture(t *testing.T, name string, archive *txtar.Archive) {
	src, request := unpack(t, archive)
	c, findings := Check(src)
	var got []txtar.File
	if len(findings) > 0 {
		got = append(got, txtar.File{Name: "findings", Data: []byte(findings.Error() + "\n")})
	}
	if request != nil {
		got = append(got, txtar.File{Name: "plan", Data: planText(t, src, c, *request)})
	}
	for _, f := range archive.Files {
		if f.Name == "show" {
			shown, _, err := Show(c, ShowOptions{Chain: lines(f)["chain"]})
			if err != nil {
				shown = []byte("error: " + err.Error() + "\n")
			}
			got = append(got, txtar.File{Name: "shown", Data: shown})
		}
	}
	_, loadErr := Load(src)
	if all := (config.Findings)(nil); findings.Failed() != errors.As(loadErr, &all) {
		t.Errorf("Load and Check disagree: %v", loadErr)
	}

	wanted := func(f txtar.File) bool { return slices.Contains([]string{"findings", "plan", "shown"}, f.Name) }
	var inputs, want []txtar.File
	for _, f := range archive.Files {
		if wanted(f) {
			want = append(want, f)
		} else {
			inputs = append(inputs, f)
		}
	}
	if goldentest.Updating() {
		archive.Files = append(inputs, got...)
		if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(text(want), text(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// planText plans with two configurations, which must give the same plan.
func planText(t *testing.T, src Source, c *Config, request agent.Request) []byte {
	first, err := c.Plan(request)
	if err != nil {
		if p := (*PlanError)(nil); !errors.As(err, &p) {
			t.Errorf("Plan returned a %T", err)
		}
		return []byte("error: " + err.Error() + "\n")
	}
	checked, _ := Check(src)
	second, err := checked.Plan(request)
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(planJSON(t, first), planJSON(t, second)); diff != "" {
		t.Errorf("two plans of one configuration differ:\n%s", diff)
	}
	var back plan.Plan
	if err := json.Unmarshal([]byte(planJSON(t, first)), &back); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(first, back, sameJSON, cmpopts.IgnoreFields(plan.Skill{}, "Texts")); diff != "" {
		t.Errorf("the plan does not survive JSON:\n%s", diff)
	}
	return append(masked.ReplaceAllFunc([]byte(planJSON(t, first)), oneLine), '\n')
}

// sameJSON compares JSON by value, because the plan's JSON keeps its indentation.
var sameJSON = cmp.Comparer(func(a, b json.RawMessage) bool {
	var x, y any
	return len(a)+len(b) == 0 || json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
})

// masked matches the list of masking patterns in nearly every plan.
var masked = regexp.MustCompile(`"patterns": \[[^\]]*\]`)

func oneLine(list []byte) []byte { return []byte(strings.Join(strings.Fields(string(list)), " ")) }

func planJSON(t *testing.T, p plan.Plan) string {
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func text(files []txtar.File) map[string]string {
	out := map[string]string{}
	for _, f := range files {
		out[f.Name] = string(f.Data)
	}
	return out
}

// baseEnv is the environment of most tests: it has everything that the built-in configuration needs.
var baseEnv = map[string]string{
	"OPENAI_API_KEY": "sk-test", "INQUEST_EXECUTABLE": "/bin/inquest", "INQUEST_DATA": "/data", "PATH": "testdata/bin",
}

func unpack(t *testing.T, archive *txtar.Archive) (Source, *agent.Request) {
	src, env := Source{}, maps.Clone(baseEnv)
	dir := t.TempDir()
	var request *agent.Request
	for _, f := range archive.Files {
		switch f.Name {
		case "findings", "plan", "show", "shown":
		case "env":
			for name, value := range lines(f) {
				if gone, ok := strings.CutPrefix(name, "-"); ok {
					delete(env, gone)
				} else {
					env[name] = value
				}
			}
		case "code":
			names := lines(f)
			src.Hooks, src.Mocks = strings.Fields(names["hooks"]), strings.Fields(names["mocks"])
		case "request":
			fields := lines(f)
			request = &agent.Request{
				Chain: fields["chain"], AlertType: fields["alert_type"], Provider: fields["provider"], Runbook: fields["runbook"],
				UseMock: fields["use_mock"] != "",
			}
			if also := fields["json"]; also != "" { // fields that are not only text
				if err := json.Unmarshal([]byte(also), request); err != nil {
					t.Fatal(err)
				}
			}
		default:
			src.Dir = dir
			name := filepath.Join(dir, f.Name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, f.Data, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	src.Env = lookupIn(env)
	return src, request
}

func lines(f txtar.File) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(f.Data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		out[name] = value
	}
	return out
}

func lookupIn(env map[string]string) Env {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}
