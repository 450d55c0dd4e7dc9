package store

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// A log is too large to be cached if any text of its entries is long.
func TestWhatLogsWeigh(t *testing.T) {
	t.Parallel()
	much := strings.Repeat("x", maxLogs/4)
	for name, body := range map[string]transcript.Body{
		"text":      {Text: much},
		"thinking":  {Thinking: much},
		"state":     {Reply: transcript.Reply{ProviderState: json.RawMessage(much)}},
		"calls":     {Calls: []transcript.Call{{Arguments: much}}},
		"call":      {Call: &transcript.Call{Arguments: much}},
		"a failure": {Result: transcript.Result{Fault: agent.Fault{Details: json.RawMessage(much)}}},
	} {
		var l logs
		l.keep(transcript.Scope{}, []transcript.Entry{{Seq: 1, Body: body}}, 0, 0)
		if l.bytes != 0 {
			t.Errorf("%s: a log of %d bytes is kept as one of %d", name, len(much), l.bytes)
		}
	}
}

// A cached log is read anew if the database was set back and has other entries with the same numbers.
func TestLogOfAStoreThatIsSetBack(t *testing.T) {
	t.Parallel()
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "x.db")
	var stores [2]*Store
	for n := range stores {
		var err error
		if stores[n], err = Open(ctx, Options{Path: path}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = stores[n].Close() })
	}
	scope, w := transcript.Scope{Investigation: "inv", Execution: "work/A"}, transcript.Writer{RunID: "r1"}
	write := func(s *Store, iteration int, text string) {
		_, err := s.Append(ctx, transcript.Step{Scope: scope, Writer: w, Rows: []transcript.Row{
			{Key: transcript.Key{Iteration: iteration}, Kind: transcript.KindReply, Body: transcript.Body{Text: text}},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	log := func() (texts []string) {
		known, err := stores[0].LookupReply(ctx, scope, 9, w)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range known.Log {
			texts = append(texts, e.Text)
		}
		return texts
	}
	write(stores[0], 1, "one")
	write(stores[0], 2, "lost")
	if got := log(); !slices.Equal(got, []string{"one", "lost"}) {
		t.Fatalf("the log is %q", got)
	}
	if _, err := stores[1].db.writer.ExecContext(ctx, `DELETE FROM entries WHERE seq > 1; UPDATE cursors SET seq = 1`); err != nil {
		t.Fatal(err)
	}
	write(stores[1], 2, "two")
	write(stores[1], 3, "three")
	if got := log(); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("the log is %q", got)
	}
}

// Readers share cached logs. Entries that one of them appends are not shared.
func TestLogsAreShared(t *testing.T) {
	t.Parallel()
	at := func(seq int64, position int) transcript.Entry {
		return transcript.Entry{Seq: seq, Key: transcript.Key{Iteration: 1, Position: position}}
	}
	var l logs
	l.keep(transcript.Scope{}, append(make([]transcript.Entry, 0, 9), at(1, 0), at(2, 5)), 0, 0)
	kept := l.get(transcript.Scope{})
	more := kept.with([]transcript.Entry{at(2, 5), at(3, 1)})
	same := kept.with([]transcript.Entry{at(2, 5)})
	if &same[0] != &kept.entries[0] {
		t.Error("a log that has nothing new is copied")
	}
	_, _ = append(same, at(9, 9)), append(more, at(9, 9))
	for n, want := range []int64{1, 3, 2} {
		if more[n].Seq != want {
			t.Errorf("entry %d is %d, want %d", n, more[n].Seq, want)
		}
	}
	if len(more) != cap(more) || len(same) != cap(same) {
		t.Error("two readers would append to the same place")
	}
}
