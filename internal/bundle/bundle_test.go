package bundle_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/bundle"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func content() bundle.Content {
	c := bundle.Content{
		Record: record.Investigation{ID: "lab:0123456789ab", Chain: "c", Status: agent.StatusCompleted, StartedAt: now,
			Report: "# Found\n<script>alert(1)</script>"},
		Request: []byte("checkout is slow"), Plan: []byte(`{"version":5}`), Schema: 27,
		Acts: []audit.Act{{Investigation: "lab:0123456789ab", N: 1, At: now, What: audit.Decided, Who: "Ada", Tool: "k8s.delete"}},
		Entries: []transcript.Entry{
			{Seq: 1, At: now, Kind: transcript.KindReply, Body: transcript.Body{Text: "</pre><script>alert(2)</script>"}},
		},
		Blobs: map[string][]byte{strings.Repeat("ab", 16): []byte("a log")},
	}
	for n := range 5 {
		c.Rows = append(c.Rows, record.Row{Table: "entries", Values: map[string]any{
			"investigation": "lab:0123456789ab", "seq": int64(n + 1), "execution": "dig/Alpha", "body": fmt.Sprintf(`{"text":"line %d"}`, n),
			"flag": true, "ended_at": nil, "at": int64(1<<62 + n),
		}})
	}
	return c
}

func TestReadReturnsWhatWasWritten(t *testing.T) {
	t.Parallel()
	c := content()
	file, seal, err := bundle.Write(c, now)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.Rows, b.Rows); diff != "" || b.Seal != seal || b.Schema != 27 || b.Investigation != c.Record.ID {
		t.Errorf("%+v (-want +got):\n%s", b.Manifest, diff)
	}
	if diff := cmp.Diff(c.Blobs, b.Blobs); diff != "" {
		t.Errorf("blobs (-want +got):\n%s", diff)
	}
	for _, hostile := range []string{"<script>alert(1)", "<script>alert(2)"} {
		page := file[bytes.Index(file, []byte("<!doctype")):]
		if bytes.Contains(page[:bytes.Index(page, []byte("</html>"))], []byte(hostile)) {
			t.Errorf("the page has %s", hostile)
		}
	}
}

// TestEveryByteCounts alters each byte of a bundle in turn. A byte of a row is reported as that row.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	file, _, err := bundle.Write(content(), now)
	if err != nil {
		t.Fatal(err)
	}
	rows := bytes.Index(file, []byte(`{"hash":`))
	end := bytes.LastIndex(file, []byte(`"seq":5`))
	altered := bytes.Clone(file)
	for at := range file {
		for _, flip := range []byte{1, 0x20, 0x80} {
			altered[at] ^= flip
			_, err := bundle.Read(altered)
			altered[at] ^= flip
			if err == nil {
				t.Fatalf("byte %d of %d was altered by %#x, and nothing noticed", at, len(file), flip)
			}
			if at < rows || at > end {
				continue
			}
			want := fmt.Sprintf("row %d", 1+bytes.Count(file[rows:at], []byte("\n")))
			if wrong, ok := errors.AsType[*bundle.AlteredError](err); !ok || !strings.Contains(wrong.What, want) {
				t.Fatalf("byte %d was altered by %#x: %v, want %s", at, flip, err, want)
			}
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	c := content()
	c.Rows = nil
	for name, file := range map[string][]byte{"nothing": nil, "text": []byte("hello"), "headers": bytes.Repeat([]byte("PK\x03\x04"), 99)} {
		if _, err := bundle.Read(file); err == nil || !strings.Contains(err.Error(), "this is not a bundle") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if file, _, err := bundle.Write(c, now); err != nil {
		t.Error(err)
	} else if _, err := bundle.Read(file); err != nil {
		t.Errorf("no rows: %v", err)
	}
}

func TestRefs(t *testing.T) {
	t.Parallel()
	a, b, secret := strings.Repeat("a", 32), strings.Repeat("b", 32), strings.Repeat("c", 32)
	rows := []record.Row{{Table: "entries", Values: map[string]any{
		"plan_hash": a, "body": `{"text":"` + secret + `","artifacts":["` + b + `"],"calls":[{"arguments":"` + secret + `"}]}`,
		"report": secret, "at": int64(1),
	}}}
	if diff := cmp.Diff([]string{a, b}, bundle.Refs(rows)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
