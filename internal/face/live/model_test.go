package live

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/goldentest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

const (
	id      = "alert-7:0123456789ab"
	logs    = "collect/LogAgent"
	metrics = "collect/MetricsAgent"
	judge   = "judge/Judge"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

// journal numbers entries.
type journal struct{ seq int64 }

func (j *journal) entry(execution string, k transcript.Key, seconds float64, kind transcript.Kind, body transcript.Body) transcript.Entry {
	j.seq++
	return transcript.Entry{Scope: transcript.Scope{Execution: execution}, Key: k, Seq: j.seq, Kind: kind, At: at(seconds), Body: body}
}

func text(text string) transcript.Body { return transcript.Body{Text: text} }

func pos(iteration, n int) transcript.Key { return transcript.Key{Iteration: iteration, Position: n} }

func investigation(status agent.Status) *record.Investigation {
	return &record.Investigation{
		ID: id, Chain: "incident", Status: status, StartedAt: start,
		Usage:    agent.Usage{InputTokens: 14_000, OutputTokens: 1_340, CostUSD: 0.0213},
		Envelope: record.Envelope{Pending: []string{"judge"}},
	}
}

func execution(name string, status agent.Status) record.Execution {
	stage, who, _ := strings.Cut(name, "/")
	return record.Execution{
		Name: name, Stage: stage, Agent: who, Model: "gpt-4o", Status: status, StartedAt: at(1),
		Usage: agent.Usage{InputTokens: 7_000, OutputTokens: 670, CostUSD: 0.0106},
	}
}

func tail(execution, thinking, text string) transcript.Live {
	return transcript.Live{Scope: transcript.Scope{Execution: execution}, Iteration: 2, Attempt: 1, Thinking: thinking, Text: text}
}

var (
	// respelled is query as in its result: one argument was a text although the tool expects a number.
	respelled = transcript.Call{Name: "loki.query", Arguments: `{"query":"x","limit":"20"}`,
		Respelled: "[Arguments were converted to match the schema: limit as a number.]"}
	query   = transcript.Call{Name: "loki.query", Arguments: `{"query": "{app=\"checkout\"} |= \"timeout\"", "limit": 20}`}
	restart = record.Approval{
		CallID: "c1_0", Tool: "cluster.restart_pod", Risk: agent.RiskDestructive, Arguments: `{"pod":"db-1","grace":30}`,
		Digest: "5f2c09ab77d1ff",
		Agent:  "MetricsAgent", Execution: metrics, Expires: at(3600),
		Reason: "The pod needs a restart.", Description: "Restart a pod after its grace period in seconds.",
	}
	question = record.Question{ID: "q1", Kind: "clarification", Stage: "collect", Question: "Which database is meant: 日本語 or the other one?",
		Expires: at(3600)}
)

const thought = "The pool may be exhausted. Look at the logs first, then at the pool: its size is set in the deployment, " +
	"and it was changed on Monday."

// remembered is restart with a configuration that allows rules for such calls.
var remembered = func() record.Approval {
	a := restart
	a.Remember = "a definition"
	return a
}()

// collecting is an investigation with two running agents.
func collecting() store.Update {
	var j journal
	lines := "12:03 pool timeout\n12:04 pool timeout\n12:05 pool timeout\n12:06 pool timeout\n12:07 pool timeout"
	return store.Update{
		Record: investigation(agent.StatusRunning), About: "Checkout error rate above 5 %",
		Stages: []record.Stage{{Name: "collect", Status: agent.StatusRunning, StartedAt: at(0.5)}},
		Executions: []record.Execution{
			execution(logs, agent.StatusRunning), execution(metrics, agent.StatusRunning),
		},
		Entries: []transcript.Entry{
			j.entry(logs, pos(1, 0), 1, transcript.KindSystem, text("You investigate.")),
			j.entry(logs, pos(1, 1), 1, transcript.KindUser, text("Alert: checkout is slow.")),
			j.entry(logs, pos(1, 2), 9, transcript.KindReply, transcript.Body{Thinking: thought, Text: "I will read the logs of checkout.",
				Calls: []transcript.Call{query}}),
			j.entry(metrics, pos(1, 0), 5, transcript.KindSystem, text("You read metrics.")),
			j.entry(metrics, pos(1, 1), 5, transcript.KindUser, text("Alert: checkout is slow.")),
			j.entry(metrics, pos(1, 2), 9, transcript.KindReply,
				transcript.Body{Text: "The pod needs a restart.", Calls: []transcript.Call{{Name: restart.Tool, Arguments: restart.Arguments}}}),
			j.entry(logs, transcript.ResultKey(1, 0), 11, transcript.KindResult, transcript.Body{Text: lines, Call: &respelled, Status: "success"}),
			j.entry(logs, pos(2, 0), 12, transcript.KindUser, text("A person gives you guidance:\nlook at the pool of 日本語-db 🚀")),
		},
		Live: []transcript.Live{tail(logs, "",
			"The pool of **checkout** was made with a maximum of 4 at 12:02, before: 40. Since then each request waits for a connection, naïve "+
				"café 日本語 🚀 and goes on to")},
		Waits: &record.Waits{},
	}
}

// judging is the same investigation a while later.
func judging() store.Update {
	u := collecting()
	u.Entries, u.Live = nil, []transcript.Live{tail(judge, "Both say the same.", "")}
	u.Stages = []record.Stage{
		{Name: "collect", Status: agent.StatusCompleted, StartedAt: at(0.5), EndedAt: until(41), Result: logs,
			Envelope: record.StageEnvelope{Order: 1}},
		{Name: "judge", Status: agent.StatusRunning, StartedAt: at(42), Envelope: record.StageEnvelope{Order: 2}},
	}
	done, failed := execution(logs, agent.StatusCompleted), execution(metrics, agent.StatusFailed)
	done.EndedAt, failed.EndedAt, failed.StopReason, failed.Error = until(40), until(30), agent.StopFailed,
		"prometheus cannot be reached: connection refused"
	u.Executions = []record.Execution{done, failed, execution(judge, agent.StatusRunning)}
	return u
}

func until(seconds float64) *time.Time {
	t := at(seconds)
	return &t
}

func waiting(w record.Waits) store.Update { return store.Update{Waits: &w} }

// press presses keys: words are keys, "text:" is typed, and "read" is the time for reading the screen.
func press(m *Model, keys ...string) (act *Act) {
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "pgup": tea.KeyPgUp,
		"pgdown": tea.KeyPgDown, "tab": tea.KeyTab}
	for _, key := range keys {
		if key == "read" {
			m.Tick(m.now.Add(promptDelay))
			m.Frame()
			continue
		}
		typed, isText := strings.CutPrefix(key, "text:")
		if code, ok := special[key]; ok {
			act = m.Key(tea.KeyPressMsg{Code: code})
			continue
		}
		if !isText {
			typed = key
		}
		for _, r := range typed {
			act = m.Key(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	return act
}

func TestFrames(t *testing.T) {
	t.Parallel()
	tests := map[string]func(m *Model){
		"starting":   func(m *Model) {},
		"collecting": func(m *Model) { m.Take(collecting()) },
		"unfolded": func(m *Model) {
			m.Take(collecting())
			press(m, "f")
		},
		"waiting": func(m *Model) {
			m.Take(collecting())
			m.Take(waiting(record.Waits{
				Approvals: []record.Approval{restart}, Questions: []record.Question{question},
				Outages: []record.Outage{{
					Execution: logs, Provider: "openai", Error: "openai: rate limited (HTTP 429)", Tries: 4, Next: at(52), Until: at(3000),
					Fallback: "gemini-pro",
				}},
			}))
			m.Lost("Temporal", at(40))
		},
		"deciding": func(m *Model) {
			m.Take(collecting())
			m.Take(waiting(record.Waits{Approvals: []record.Approval{restart}}))
			m.Asked(restart, "")
			press(m, "read", "text:not on a Friday")
		},
		"editing": func(m *Model) {
			m.Take(collecting())
			m.Take(waiting(record.Waits{Approvals: []record.Approval{restart}}))
			m.Asked(restart, "")
			press(m, "read", "tab")
			m.prompt.input.SetValue(`{"pod":"db-1","grace":"30"}`)
			m.Refused(*press(m, "enter"),
				"the decision about collect/MetricsAgent/c1_0 was refused: the arguments do not fit the schema: /grace: got string, want integer")
		},
		"always": func(m *Model) {
			m.Take(collecting())
			m.Take(waiting(record.Waits{Approvals: []record.Approval{remembered}}))
			m.Asked(remembered, "")
			press(m, "read", "tab", "tab", "tab", "tab")
			m.Previewed(remembered, "cluster.restart_pod grace=30 pod=\"db-1\" in project shop\nIt would have allowed 1 of the last 9 calls: "+
				"1 denied by a person, 0 undecided, 0 approved, 0 made without asking.\n", nil)
			press(m, "read", "text:y 8h")
		},
		"answering": func(m *Model) {
			m.Take(collecting())
			m.Take(waiting(record.Waits{Questions: []record.Question{question}}))
			press(m, "a", "text:the other one")
		},
		"judging": func(m *Model) {
			m.Take(collecting())
			m.Take(judging())
		},
		"dispatching": func(m *Model) {
			u := collecting()
			for _, name := range []string{logs + "/pool-1", logs + "-2", logs + "/pool-1/db", metrics + "/node"} {
				u.Executions = append(u.Executions, execution(name, agent.StatusRunning))
			}
			m.Take(u)
		},
		"awaiting": func(m *Model) {
			u := collecting()
			u.Live = nil
			u.Executions = append(u.Executions, execution(logs+"/pool-1", agent.StatusRunning), execution(logs+"/pool-2", agent.StatusCompleted))
			last := transcript.Body{Text: "I wait."}
			u.Entries = append(u.Entries, transcript.Entry{
				Scope: transcript.Scope{Execution: logs}, Key: pos(9, 0), Seq: 999, Kind: transcript.KindReply, At: at(30), Body: last,
			})
			m.Take(u)
		},
		"done": func(m *Model) { // the agent has ended, but not its stage
			u := collecting()
			u.Live = nil
			u.Entries = append(u.Entries, transcript.Entry{Scope: transcript.Scope{Execution: logs}, Key: pos(9, 0), Seq: 999,
				Kind: transcript.KindReply, At: at(30), Body: text("It is the pool.")})
			m.Take(u)
		},
		"unnamed": func(m *Model) {
			u := collecting()
			u.About = ""
			m.Take(u)
		},
		"stages": func(m *Model) {
			u := judging()
			u.Record.Envelope.Pending = []string{"weigh", "look again", "plan", "mend", "verify", "tell everybody", "close"}
			u.Waits = &record.Waits{Questions: []record.Question{{ID: "q1", Kind: confirmation, Stage: "judge", Question: "Go on?"}}}
			m.Take(u)
		},
		"report": func(m *Model) {
			m.Take(collecting())
			m.Take(judging())
			press(m, "r")
		},
		"help": func(m *Model) {
			m.Take(collecting())
			press(m, "?")
		},
	}
	for name, do := range tests {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			name := fmt.Sprintf("%s-%dx%d", name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m := New(id)
				m.Resize(size[0], size[1])
				m.Tick(at(42.5))
				do(m)
				frame := m.Frame()
				fits(t, frame, size[0], size[1])
				golden(t, name, ansi.Strip(frame))
			})
		}
	}
}

// TestAnAgentThatWritesIsNotDone checks the mark of an agent that writes again after a reply without calls.
func TestAnAgentThatWritesIsNotDone(t *testing.T) {
	t.Parallel()
	var j journal
	m := New(id)
	m.Tick(at(42))
	m.Take(store.Update{
		Record: investigation(agent.StatusRunning), Executions: []record.Execution{execution(logs, agent.StatusRunning)},
		Entries: []transcript.Entry{j.entry(logs, pos(1, 0), 1, transcript.KindReply, text("It is the pool."))},
	})
	row := func() string {
		lines := strings.Split(ansi.Strip(m.Frame()), "\n")
		return lines[slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "> ") })]
	}
	if line := row(); !strings.Contains(line, "✓") || !strings.Contains(line, "done") {
		t.Errorf("after its reply: %s", line)
	}
	m.Take(store.Update{Live: []transcript.Live{tail(logs, "", "The evidence is")}})
	if line := row(); strings.Contains(line, "✓") || !strings.Contains(line, "writing") {
		t.Errorf("while it writes: %s", line)
	}
}

// fits checks that a frame fills a terminal and that no line is wider.
func fits(t interface {
	Helper()
	Errorf(string, ...any)
}, frame string, width, height int) {
	t.Helper()
	lines := strings.Split(frame, "\n")
	if len(lines) != height {
		t.Errorf("%d lines on a terminal with %d", len(lines), height)
	}
	for _, line := range lines {
		if n := ansi.StringWidth(line); n > width {
			t.Errorf("%d columns on a terminal with %d: %q", n, width, line)
		}
	}
}

// golden compares a frame with a file in testdata and ignores trailing spaces.
func golden(t *testing.T, name, got string) {
	t.Helper()
	lines := strings.Split(got, "\n")
	for n := range lines {
		lines[n] = strings.TrimRight(lines[n], " ")
	}
	got = strings.Join(lines, "\n") + "\n"
	file := filepath.Join("testdata", name+".golden")
	goldentest.Equal(t, file, got)
}
