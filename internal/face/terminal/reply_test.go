package terminal

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Two agents that write at the same time, word by word, do not interrupt each other's sentences.
func TestAgentsShareTheScreen(t *testing.T) {
	t.Parallel()
	const text = "This is the first thing that an agent says, and it is longer than a line of the terminal.\n\n" +
		"A second thing.\n\n- a list\n- of two lines.\n\nThe last thing is said at the end, which is as long as the first one."
	both := []record.Execution{execution(logs, "collect", agent.StatusRunning, "", 0),
		execution(metrics, "collect", agent.StatusRunning, "", 0)}
	var out strings.Builder
	v := newView(Options{Out: &out, Width: 60})
	v.take(store.Update{Record: running(), Executions: both})
	for n := range text {
		if text[n] != ' ' {
			continue
		}
		v.take(store.Update{Live: []transcript.Live{tail(logs, 1, "", text[:n])}}) // the other one pauses
		v.take(store.Update{Live: []transcript.Live{tail(logs, 1, "", text[:n]), tail(metrics, 1, text[:n], "")}})
	}
	var j journal
	v.take(store.Update{Live: []transcript.Live{}, Entries: []transcript.Entry{
		j.entry(metrics, position(1, 0), 1, transcript.KindReply, transcript.Body{Thinking: text, Text: "Done."}),
		j.entry(logs, position(1, 0), 1, transcript.KindReply, said(text)),
	}})
	changes, before := 0, ""
	var lines []string
	for line := range strings.Lines(out.String()) {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "──") {
			continue
		}
		name, _, _ := strings.Cut(line, " ")
		line = strings.TrimSpace(line)
		if name != before && before != "" {
			changes++
			if last := lines[len(lines)-1]; !strings.HasSuffix(last, ".") && !strings.Contains(last, "· iteration") {
				t.Errorf("%s breaks into %q", name, last)
			}
		}
		lines, before = append(lines, line), name
	}
	if got := strings.Count(out.String(), "A second thing."); got != 2 || changes < 4 {
		t.Errorf("said %d times, %d changes:\n%s", got, changes, &out)
	}
}
