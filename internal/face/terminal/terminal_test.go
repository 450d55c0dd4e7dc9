package terminal

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/goldentest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
)

func TestWatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		updates []store.Update
		opts    Options
	}{
		{"plain", incident(), Options{}},
		{"verbose", incident(), Options{Verbose: true}},
		{"terminal", incident(), Options{Color: true, Width: 72}},
		{"catching-up", []store.Update{merged(incident())}, Options{}},
		{"reset", reset(), Options{}},
		{"failed", failed(), Options{Width: 72}},
		{"decided", decided(), Options{}},
		{"hostile", hostile(), Options{Width: 72}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			tt.opts.Out = &out
			src := &recorded{updates: tt.updates}
			got, err := Watch(tt.opts, src.follow(t.Context()))
			if err := errors.Join(err, End(got, tt.opts)); err != nil {
				t.Fatal(err)
			}
			if want := src.final().Status; got.Status != want {
				t.Errorf("status %s, want %s", got.Status, want)
			}
			golden(t, tt.name, out.String())
		})
	}
}

func TestShow(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		updates []store.Update
	}{
		{"show", incident()},
		{"show-reset", reset()},
		{"show-running", incident()[:6]},
		{"show-decided", decided()},
		{"show-cut", cut()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			all := merged(tt.updates)
			if err := Show(*all.Record, all.Stages, all.Executions, all.Entries, Options{Out: &out}); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.name, out.String())
		})
	}
}

// TestCaveatsOnce checks that the end names each server that was missing once, before a report that a model has fenced.
func TestCaveatsOnce(t *testing.T) {
	t.Parallel()
	r := record.Investigation{Status: agent.StatusCompleted, Envelope: record.Envelope{
		NoToolResult: true, NotChecked: []record.NotChecked{{Server: "k8s", Why: "it cannot be started", Agents: []string{"A"}}},
	}}
	r.Report = r.Envelope.NotCheckedParagraph() + "```markdown\n# Found\n```sh\nls\n```\n```"
	for _, width := range []int{0, 72} {
		var out strings.Builder
		if err := End(r, Options{Out: &out, Width: width}); err != nil {
			t.Fatal(err)
		}
		before, after, found := strings.Cut(out.String(), "# Found")
		if !found || strings.Count(before, "Not checked") != 1 || strings.Count(before, "No tool result") != 1 ||
			strings.Contains(after, "Not checked") || strings.Contains(out.String(), "```markdown") {
			t.Errorf("width %d:\n%s", width, &out)
		}
	}
}

// All entries are printed before the end, however few each update has.
func TestWatchPagesToTheEnd(t *testing.T) {
	t.Parallel()
	whole := merged(incident())
	var pages []store.Update
	for i := range whole.Entries {
		page := store.Update{Entries: whole.Entries[i : i+1], More: i+1 < len(whole.Entries)}
		if i == 0 {
			page.Record, page.Stages, page.Executions = whole.Record, whole.Stages, whole.Executions
		}
		pages = append(pages, page)
	}
	var out strings.Builder
	opts := Options{Out: &out}
	got, err := Watch(opts, (&recorded{updates: pages}).follow(t.Context()))
	if err := errors.Join(err, End(got, opts)); err != nil {
		t.Fatal(err)
	}
	golden(t, "catching-up", out.String())
}

func TestWatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	got, err := Watch(Options{Out: &out}, (&recorded{updates: incident()[:3]}).follow(ctx))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if got.Status != agent.StatusRunning {
		t.Errorf("status %s, want running", got.Status)
	}
}

func TestWatchReportsThatNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left")
	_, err := Watch(Options{Out: brokenWriter{full}}, (&recorded{updates: incident()}).follow(t.Context()))
	if !errors.Is(err, full) {
		t.Errorf("error %v, want %v", err, full)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// recorded replays updates and then ends.
type recorded struct{ updates []store.Update }

func (r *recorded) follow(ctx context.Context) func(func(store.Update) error) error {
	return func(take func(store.Update) error) error {
		for _, u := range r.updates {
			if err := take(u); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return ctx.Err()
	}
}

func (r *recorded) final() record.Investigation { return *merged(r.updates).Record }

// merged returns the contents of a store after the updates.
func merged(updates []store.Update) store.Update {
	var out store.Update
	bySeq := map[int64]int{}
	for _, u := range updates {
		if u.Record != nil {
			out.Record, out.Stages, out.Executions = u.Record, u.Stages, u.Executions
		}
		for _, e := range u.Entries {
			if i, known := bySeq[e.Seq]; known {
				out.Entries[i] = e
				continue
			}
			bySeq[e.Seq] = len(out.Entries)
			out.Entries = append(out.Entries, e)
		}
	}
	return out
}

// golden compares a text with a file in testdata, with escape sequences spelled out.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, "\x1b", "<ESC>")
	file := filepath.Join("testdata", name+".golden")
	goldentest.Equal(t, file, got)
}

// start is the time when everything in the tests begins.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

func until(seconds float64) *time.Time {
	t := at(seconds)
	return &t
}
