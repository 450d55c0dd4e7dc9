package artifact_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/artifact"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

type blobs map[string]tool.Artifact

func (b blobs) Blob(_ context.Context, hash string) ([]byte, error) {
	kept, ok := b[hash]
	if !ok {
		return nil, errors.New("not found")
	}
	return json.Marshal(kept)
}

func TestList(t *testing.T) {
	t.Parallel()
	kept := blobs{
		"a": {MIMEType: "image/png", Data: []byte{1, 2}},
		"b": {MIMEType: "application/json", Name: "structuredContent", JSON: json.RawMessage(`{"a":1}`)},
		"c": {MIMEType: "text/csv", Name: "file:///tmp/out/../../etc/pass wd.csv?x=1"},
	}
	result := func(execution string, refs ...string) transcript.Entry {
		return transcript.Entry{
			Scope: transcript.Scope{Execution: execution}, Kind: transcript.KindResult,
			Body: transcript.Body{Call: &transcript.Call{Name: "lab.shot"}, Result: transcript.Result{Artifacts: refs}},
		}
	}
	gone := result("s/A", "gone")
	gone.Superseded = true
	got, err := artifact.List(t.Context(), []transcript.Entry{result("s/A", "a"), gone, result("s/B", "a", "b"), result("s/B", "c")}, kept)
	if err != nil {
		t.Fatal(err)
	}
	want := []artifact.Artifact{
		{N: 1, Name: "1-lab.shot.png", MIMEType: "image/png", Size: 2, Ref: "a", Execution: "s/A", Tool: "lab.shot"},
		{N: 2, Name: "2-structuredContent.json", Source: "structuredContent", MIMEType: "application/json", Size: 7, Ref: "b",
			Execution: "s/B", Tool: "lab.shot"},
		{N: 3, Name: "3-pass-wd.csv", Source: kept["c"].Name, MIMEType: "text/csv", Ref: "c", Execution: "s/B", Tool: "lab.shot"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	received := result("s/B", "x", "y")
	received.Kept = []transcript.Kept{{Name: "a.csv", MIMEType: "text/csv", Size: 9}, {MIMEType: "image/png", Size: 8}}
	got, err = artifact.List(t.Context(), []transcript.Entry{received}, blobs{}) // no blob is read
	want = []artifact.Artifact{
		{N: 1, Name: "1-a.csv", Source: "a.csv", MIMEType: "text/csv", Size: 9, Ref: "x", Execution: "s/B", Tool: "lab.shot"},
		{N: 2, Name: "2-lab.shot.png", MIMEType: "image/png", Size: 8, Ref: "y", Execution: "s/B", Tool: "lab.shot"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	if data, err := artifact.Read(t.Context(), kept, "b"); err != nil || string(data) != `{"a":1}` {
		t.Errorf("%s, %v", data, err)
	}
	if _, err := artifact.List(t.Context(), []transcript.Entry{result("s/A", "lost")}, kept); err == nil {
		t.Error("what is lost is listed")
	}
}

// Whatever a server calls a file, its name is valid and stays within its folder.
func TestNames(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"../../etc/passwd":             "1-passwd.txt",
		`C:\Windows\system32\cmd.exe`:  "1-cmd.exe.txt",
		"-rf":                          "1-rf.txt",
		".bashrc":                      "1-bashrc.txt",
		"con":                          "1-con.txt",
		"a\x1b[31m\n\u202eb.txt":       "1-a--31m--b.txt",
		"/":                            "1-t.txt",
		"..":                           "1-t.txt",
		"https://h/p/report.txt?t=s#x": "1-report.txt",
	} {
		e := transcript.Entry{Body: transcript.Body{Call: &transcript.Call{Name: "t"}, Result: transcript.Result{Artifacts: []string{"a"}}}}
		got, err := artifact.List(t.Context(), []transcript.Entry{e}, blobs{"a": {MIMEType: "text/plain; charset=utf-8", Name: source}})
		if err != nil || got[0].Name != want {
			t.Errorf("%q: %q, want %q (%v)", source, got[0].Name, want, err)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"a\tb\r\n": true, "": true, "\x1b[31m": false, "\x00": false, "\xff": false} {
		if artifact.Text([]byte(text)) != want {
			t.Errorf("%q is text: %t", text, !want)
		}
	}
}
