package client

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/storetest"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Following the store ends with the record's end, whatever Temporal says, and with Temporal's end if the record will never show one.
func TestFollowing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ends  bool  // in the record
		over  bool  // in Temporal
		after int64 // of three entries
		fails error
		want  int
	}{
		"to the end":           {ends: true, want: 3},
		"from the middle":      {ends: true, after: 2, want: 1},
		"after all":            {ends: true, after: 3, want: 0},
		"terminated":           {over: true, want: 3},
		"who follows has left": {fails: errors.New("enough"), want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := aStore(t, tt.ends)
			over, end := context.WithCancel(t.Context())
			defer end()
			entries := 0
			f := following{store: st, id: "w:1", last: tt.after}
			f.fn = func(e system.Event) error {
				entries += len(e.Update.Entries)
				if tt.over && entries == tt.want {
					end()
				}
				return tt.fails
			}
			if err := f.follow(t.Context(), over); !errors.Is(err, tt.fails) || entries != tt.want || !errors.Is(f.refused, tt.fails) {
				t.Errorf("%d entries, %v, refused %v", entries, err, f.refused)
			}
		})
	}
}

// Entries written after the last update are reported even after following stopped, and an error of the callback is returned unchanged.
func TestFollowingTellsTheTail(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	for _, refuses := range []error{nil, enough} {
		over, end := context.WithCancel(t.Context())
		entries := 0
		f := following{store: aStore(t, false), id: "w:1", last: 1}
		f.fn = func(e system.Event) error { entries += len(e.Update.Entries); return refuses }
		if err := f.tail(t.Context()); !errors.Is(err, refuses) || !errors.Is(f.refused, refuses) || entries != 2 {
			t.Errorf("%d entries, %v, refused %v", entries, err, f.refused)
		}
		f.last, f.fn = 0, func(system.Event) error {
			end()
			return enough
		}
		if err := f.follow(t.Context(), over); !errors.Is(err, enough) {
			t.Errorf("got %v, want what was refused with", err)
		}
	}
}

// aStore returns a store with an investigation of three entries.
func aStore(t *testing.T, ended bool) *store.Store {
	t.Helper()
	st := storetest.Open(t)
	now := time.Now()
	r := record.Investigation{ID: "w:1", WorkflowID: "w", RunID: "r", Status: agent.StatusRunning, StartedAt: now}
	e := record.Execution{Investigation: r.ID, Name: "dig/A", Stage: "dig", Agent: "A", Status: agent.StatusRunning, StartedAt: now}
	step := transcript.Step{Scope: transcript.Scope{Investigation: r.ID, Execution: e.Name},
		Writer: transcript.Writer{RunID: "r", ActivityID: "1"}}
	for n := range 3 {
		step.Rows = append(step.Rows, transcript.Row{Key: transcript.Key{Iteration: 1, Position: n}, Kind: transcript.KindUser,
			Body: transcript.Body{Text: "x"}})
	}
	err := errors.Join(st.StartInvestigation(t.Context(), r), st.StartExecution(t.Context(), e, ""))
	if _, appended := st.Append(t.Context(), step); err != nil || appended != nil {
		t.Fatal(err, appended)
	}
	if ended {
		r.Status, r.EndReason, r.EndedAt = agent.StatusCompleted, agent.EndCompleted, &now
		if err := st.FinishInvestigation(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return st
}
