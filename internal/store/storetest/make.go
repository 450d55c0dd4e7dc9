package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/transcript"
)

var scope = transcript.Scope{Investigation: "inv/run", Execution: "triage/analyst"}

// key is short for transcript.Key.
func key(iteration, position int) transcript.Key {
	return transcript.Key{Iteration: iteration, Position: position}
}

func writer(run string) transcript.Writer {
	return transcript.Writer{RunID: run, ActivityID: "activity-of-" + run}
}

// row is a user message that names the run that wrote it.
func row(run string, k transcript.Key) transcript.Row {
	return transcript.Row{Key: k, Kind: transcript.KindUser, Body: transcript.Body{Text: "by " + run}}
}

func reply(run string, k transcript.Key, usage agent.Usage) transcript.Row {
	r := row(run, k)
	r.Kind, r.Usage, r.Provider, r.Model = transcript.KindReply, &usage, "openai", "gpt"
	return r
}

func step(run string, rows ...transcript.Row) transcript.Step {
	return transcript.Step{Scope: scope, Writer: writer(run), Rows: rows}
}

// steps appends one step with one row for each key.
func steps(t *testing.T, s Store, run string, keys ...transcript.Key) {
	t.Helper()
	for _, k := range keys {
		mustAppend(t, s, step(run, row(run, k)))
	}
}

func mustAppend(t *testing.T, s Store, step transcript.Step) []transcript.Entry {
	t.Helper()
	entries, err := s.Append(t.Context(), step)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// ok fails the test if there is an error.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must returns the value of a call that must succeed: must(s.Blob(ctx, hash))(t).
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		ok(t, err)
		return v
	}
}

// same compares values and treats nil and empty as equal.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// brief holds the parts of an entry that tests compare.
type brief struct {
	Seq        int64
	Key        transcript.Key
	Run        string
	Superseded bool
}

func briefs(entries []transcript.Entry) []brief {
	var out []brief
	for _, e := range entries {
		out = append(out, brief{e.Seq, e.Key, e.Writer.RunID, e.Superseded})
	}
	return out
}

// gapless checks that the log of an investigation is numbered 1, 2, 3 … and returns it.
func gapless(t *testing.T, s Store, investigation string) []transcript.Entry {
	t.Helper()
	all := must(s.After(t.Context(), investigation, 0, 0))(t)
	for i, e := range all {
		if e.Seq != int64(i)+1 {
			t.Fatalf("entry %d has seq %d", i, e.Seq)
		}
	}
	return all
}

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// at returns a time with microseconds, in a zone other than UTC.
func at(minute int) time.Time {
	return time.Date(2026, 3, 4, 5, minute, 6, 789_123_000, time.FixedZone("", 7200))
}
