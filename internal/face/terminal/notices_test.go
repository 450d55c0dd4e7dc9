package terminal

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// feed is a source that passes on the updates from a test.
type feed chan store.Update

func (f feed) follow(ctx context.Context) func(func(store.Update) error) error {
	return func(take func(store.Update) error) error {
		for {
			select {
			case u := <-f:
				if err := take(u); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// asked returns a notice for each question.
func asked(w record.Waits) (out []Notice) {
	for _, q := range w.Questions {
		out = append(out, Notice{Text: q.Question})
	}
	return out
}

// A notice gets its own line, even in the middle of an arriving reply.
func TestNotices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := make(feed)
		var out strings.Builder
		ctx, stop := context.WithCancel(t.Context())
		go Watch(Options{Out: &out, Width: 80, Notices: asked}, src.follow(ctx))
		say := func(text string) {
			live := transcript.Live{Scope: transcript.Scope{Execution: "collect/LogAgent"}, Iteration: 1, Attempt: 1, Text: text}
			src <- store.Update{Live: []transcript.Live{live}}
			synctest.Wait()
		}
		say("one two ")
		for range 2 { // it is printed once
			src <- store.Update{Waits: &record.Waits{Questions: []record.Question{{Question: "decide\x1b now"}}}}
		}
		synctest.Wait()
		say("one two three ")
		stop()
		synctest.Wait()
		lines := slices.DeleteFunc(strings.Split(out.String(), "\n"), func(line string) bool {
			return line == "" || strings.HasPrefix(line, "──")
		})
		want := []string{"collect/LogAgent │ one two", "! decide␛ now", "collect/LogAgent │ three"}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Error(diff)
		}
	})
}

// Notices from the investigation itself belong to no stage and no agent.
func TestNoticeOfTheInvestigation(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	v := newView(Options{Out: &out})
	v.take(store.Update{Entries: []transcript.Entry{
		{Seq: 1, Scope: transcript.Scope{Execution: "dig/A"}, Kind: transcript.KindNotice, Body: transcript.Body{Text: "one"}},
		{Seq: 2, Kind: transcript.KindNotice, Body: transcript.Body{Text: "not delivered: guide: x"}},
		{Seq: 3, Scope: transcript.Scope{Execution: "dig/A"}, Kind: transcript.KindNotice, Body: transcript.Body{Text: "two"}},
	}})
	want := "dig/A │ ! one\n! not delivered: guide: x\ndig/A │ ! two\n"
	if _, got, _ := strings.Cut(out.String(), "──\n"); got != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}
