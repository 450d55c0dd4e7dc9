package sample

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/inquest-dev/inquest/examples"
	"github.com/inquest-dev/inquest/internal/prompt"
)

// files reads a whole folder.
func files(t *testing.T, fsys fs.FS) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(fsys, Folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, path)
		out[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestExtract(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := files(t, examples.SampleIncident)
	for range 2 {
		if err := Extract(dir); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, files(t, os.DirFS(dir))); diff != "" {
			t.Fatalf("extracted (-want +got):\n%s", diff)
		}
	}
	changed, missing := Folder+"/events.json", Folder+"/alert.json"
	if err := os.WriteFile(filepath.Join(dir, changed), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, missing)); err != nil {
		t.Fatal(err)
	}
	if err := Extract(dir); err != nil {
		t.Fatal(err)
	}
	want[changed] = "mine"
	if diff := cmp.Diff(want, files(t, os.DirFS(dir))); diff != "" {
		t.Errorf("what people change stays, what is gone comes back (-want +got):\n%s", diff)
	}
}

func TestExtractSaysWhere(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Extract(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v", err)
	}
}

func TestIncidentIsSmallAndParses(t *testing.T) {
	t.Parallel()
	total := 0
	for path, text := range files(t, examples.SampleIncident) {
		total += len(text)
		if filepath.Ext(path) != ".log" {
			continue
		}
		service := strings.TrimSuffix(filepath.Base(path), ".log")
		for _, l := range parseLog(service, text) {
			if l.fields["service"] != service {
				t.Errorf("%s: not a line of %s: %s", path, service, l.raw)
			}
		}
	}
	if total > 300_000 {
		t.Errorf("the incident has %d bytes", total)
	}
	task, err := prompt.Task("investigation", prompt.Data{Request: string(Alert())})
	if err != nil || !json.Valid(Alert()) || alertService(task) != "checkout" {
		t.Errorf("alert %s: service %q, %v", Alert(), alertService(task), err)
	}
}

func TestParseLine(t *testing.T) {
	t.Parallel()
	const ts = "2026-01-01T10:00:00.5Z"
	tests := []struct {
		name, raw string
		want      map[string]string // nil = not a log line
	}{
		{"json", `{"ts":"` + ts + `","level":"warn","n":12345678,"ok":true}`, map[string]string{"ts": ts, "level": "warn", "n": "12345678", "ok": "true"}},
		{"logfmt", `ts=` + ts + ` level=info msg="a \"b\" = c" empty= n=1`, map[string]string{"ts": ts, "level": "info", "msg": `a "b" = c`, "empty": "", "n": "1"}},
		{"open quote", `ts=` + ts + ` level=info msg="a b`, map[string]string{"ts": ts, "level": "info", "msg": `"a`}},
		{"cut json", `{"ts":"` + ts, nil},
		{"no level", "ts=" + ts, nil},
		{"unknown level", "ts=" + ts + " level=loud", nil},
		{"text", "panic: x = y", nil},
		{"nothing", "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			line, ok := parseLine(test.raw)
			if diff := cmp.Diff(test.want, line.fields); diff != "" || ok != (test.want != nil) {
				t.Errorf("ok %v (-want +got):\n%s", ok, diff)
			}
		})
	}
}

// FuzzModel feeds arbitrary results to every agent: none may panic or fail to answer.
func FuzzModel(f *testing.F) {
	for _, text := range []string{"", "4 lines match: a 4.\n[a] " + lineA2, "time,a\n2026-01-01T10:00:00Z,1", "1 metrics:\np99: a; 1 points", "apiVersion: v1\n  replicas: 99999999999999999999", "time"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"LogAgent", "MetricsAgent", "SynthesisAgent", "AnalysisAgent", "RecommendAgent"} {
			answerAll(t, name, text)
		}
	})
}
