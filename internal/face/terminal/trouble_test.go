package terminal

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// troubled shows an agent that waits for its provider for two attempts and then continues.
func troubled(t *testing.T, width int) (out string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		src := make(feed)
		notices := func(w record.Waits) []Notice {
			o := w.Outages[0]
			text := fmt.Sprintf("%s is waiting for gpt: rate limited, %d tries", o.Execution, o.Tries)
			return []Notice{{Text: text, Trouble: o.Execution, Next: o.Next, Tries: o.Tries}}
		}
		var text strings.Builder
		ctx, stop := context.WithCancel(t.Context())
		go Watch(Options{Out: &text, Width: width, Notices: notices}, src.follow(ctx))
		seq := int64(0)
		say := func(execution string, kind transcript.Kind, body transcript.Body) {
			seq++
			e := transcript.Entry{Seq: seq, Scope: transcript.Scope{Execution: execution}, Kind: kind, Body: body}
			u := store.Update{Entries: []transcript.Entry{e}}
			if kind == transcript.KindReply { // the last update, which also shows the end
				u.Record = &record.Investigation{Status: agent.StatusRunning}
				u.Executions = []record.Execution{{Name: execution, Stage: "dig", Status: agent.StatusCompleted}}
			}
			src <- u
			synctest.Wait()
		}
		waits := func(tries int) {
			outage := record.Outage{Execution: "dig/A", Tries: tries, Next: time.Now().Add(3 * time.Second)}
			src <- store.Update{Waits: &record.Waits{Outages: []record.Outage{outage}}}
			synctest.Wait()
		}
		say("dig/A", transcript.KindTry, transcript.Body{Text: "gpt: rate limited"})
		waits(4)
		time.Sleep(1500 * time.Millisecond)
		say("dig/A", transcript.KindTry, transcript.Body{Text: "gpt: rate limited"})
		waits(5)
		say("dig/B", transcript.KindNotice, transcript.Body{Text: "beside"})
		say("dig/A", transcript.KindSystem, transcript.Body{Text: "you dig"})
		say("dig/A", transcript.KindReply, transcript.Body{Text: "found", Answer: transcript.Answer{Provider: "gpt"}})
		stop()
		synctest.Wait()
		out = text.String()
	})
	_, out, _ = strings.Cut(out, "─\n")
	return out
}

// Without a terminal, each change of an outage is a line.
func TestTroubleInAPipe(t *testing.T) {
	t.Parallel()
	want := `dig/A │ ! model call failed after 0.0 s: gpt: rate limited
! dig/A is waiting for gpt: rate limited, 4 tries
! dig/A is waiting for gpt: rate limited, 5 tries
dig/B │ ! beside
dig/A │ ! gpt is responding again
dig/A │ found
dig/A │ · iteration 0
dig/A │ ■ completed · 0 iterations · tokens unknown
`
	if diff := cmp.Diff(want, troubled(t, 0)); diff != "" {
		t.Error(diff)
	}
}

// On a terminal, an outage is a line when it begins, then the status line, which changes every second and disappears at the end.
func TestTroubleOnATerminal(t *testing.T) {
	t.Parallel()
	out := troubled(t, 70)
	const last = "! attempt 6 in 3s · dig/A is waiting for gpt: rate limited, 5 tries"
	want := `dig/A │ ! model call failed after 0.0 s: gpt: rate limited
! dig/A is waiting for gpt: rate limited, 4 tries
dig/B │ ! beside
dig/A │ ! gpt is responding again
dig/A │ found
dig/A │ · iteration 0
dig/A │ ■ completed · 0 iterations · tokens unknown
`
	if screen := screenOf(out); screen != want {
		t.Errorf("the screen (-want +got):\n%s", cmp.Diff(want, screen))
	}
	until, _, _ := strings.Cut(out, "gpt is responding again")
	const next = "\r\x1b[K! attempt 5 in 2s · dig/A is waiting for gpt: rate limited, 4 tries"
	if !strings.Contains(out, next) || strings.Count(until, last) < 2 {
		t.Errorf("the last line is not written anew:\n%q", out)
	}
}

// screenOf returns the visible text of a terminal: "\r\x1b[K" empties a line.
func screenOf(out string) string {
	lines := strings.Split(out, "\n")
	for n, line := range lines {
		lines[n] = line[strings.LastIndex(line, "\x1b[K")+1:]
		lines[n] = strings.TrimPrefix(lines[n], "[K")
	}
	return strings.Join(lines, "\n")
}
