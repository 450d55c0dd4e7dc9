package store

import (
	"encoding/json"
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
