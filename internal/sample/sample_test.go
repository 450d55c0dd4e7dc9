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
	"github.com/inquest-dev/inquest/internal/sample/logline"
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
		for _, l := range logline.Parse(service, text) {
			if l.Fields["service"] != service {
				t.Errorf("%s: not a line of %s: %s", path, service, l.Raw)
			}
		}
	}
	if total > 300_000 {
		t.Errorf("the incident has %d bytes", total)
	}
	if !json.Valid(Alert()) {
		t.Errorf("alert %s", Alert())
	}
}
