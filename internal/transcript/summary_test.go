package transcript_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/transcript"
)

func TestKeysOfACall(t *testing.T) {
	t.Parallel()
	last := transcript.Key{Iteration: 3, Position: 64}
	for n := range 3 {
		keys := []transcript.Key{transcript.CallKey(3, n), transcript.ResultKey(3, n), transcript.SummaryKey(3, n)}
		for _, key := range keys {
			if key.Position <= last.Position || key.CallIndex() != n || key.Until() != transcript.CallKey(3, n+1).Position {
				t.Errorf("key %+v: call %d, until %d", key, key.CallIndex(), key.Until())
			}
			if back, ok := transcript.ParseRef(key.Ref()); !ok || back != keys[1] {
				t.Errorf("%s is read as %+v, %t", key.Ref(), back, ok)
			}
			last = key
		}
	}
	for _, ref := range []string{"", "3", "3/", "/0", "0/0", "3/-1", "3/0/1", "a/b", "3/9999999", "99999999999999999999/0"} {
		if key, ok := transcript.ParseRef(ref); ok {
			t.Errorf("%q is read as %+v", ref, key)
		}
	}
}

// TestMessagesShowSummaries checks what a model sees of each result, and its name.
func TestMessagesShowSummaries(t *testing.T) {
	t.Parallel()
	calls := []transcript.Call{{ID: "c1_0"}, {ID: "c1_1"}, {ID: "c1_2"}, {ID: "c1_3"}}
	entries := []transcript.Entry{{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply, Body: transcript.Body{Calls: calls}}}
	add := func(key transcript.Key, kind transcript.Kind, body transcript.Body) *transcript.Entry {
		entries = append(entries, transcript.Entry{Key: key, Kind: kind, Body: body})
		return &entries[len(entries)-1]
	}
	for n := range calls {
		add(transcript.ResultKey(1, n), transcript.KindResult, transcript.Body{
			Call: &calls[n], Text: "whole", Result: transcript.Result{Size: 5},
		})
	}
	entries[4].Blob, entries[4].Size = "h", 70000
	add(transcript.SummaryKey(1, 0), transcript.KindSummary, transcript.Body{Text: "brief"})
	add(transcript.SummaryKey(1, 1), transcript.KindSummary, transcript.Body{Text: "wh", ErrorType: "Timeout"})
	add(transcript.SummaryKey(1, 2), transcript.KindSummary, transcript.Body{Text: "of a run that was replaced"}).Superseded = true

	var got []string
	for _, m := range transcript.Messages(entries)[1:] {
		got = append(got, m.Ref+": "+strings.ReplaceAll(m.Content, "\n", " "))
	}
	want := []string{
		`1/0: brief [Summary of a result of 5 bytes; complete result: read_result {"ref": "1/0"}]`,
		`1/1: wh [Not summarised (Timeout): the beginning of a result of 5 bytes; complete result: read_result {"ref": "1/1"}]`,
		`1/2: whole`,
		`1/3: whole [The beginning of a result of 70000 bytes; complete result: read_result {"ref": "1/3"}]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A model is never told that a call did not happen if it may have happened.
func TestMessagesOfCallsWithoutResult(t *testing.T) {
	t.Parallel()
	calls := []transcript.Call{{ID: "c1_0"}, {ID: "c1_1"}}
	entries := []transcript.Entry{
		{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply, Body: transcript.Body{Calls: calls}},
		{Key: transcript.CallKey(1, 0), Kind: transcript.KindCall, Body: transcript.Body{Call: &calls[0]}},
	}
	var got []string
	for _, m := range transcript.Messages(entries)[1:] {
		got = append(got, m.ToolCallID+": "+m.Content)
	}
	want := []string{
		"c1_0: This call has no result: it was interrupted and may have taken effect.",
		"c1_1: This call was not run.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
