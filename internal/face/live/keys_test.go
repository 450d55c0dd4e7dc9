package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// waits returns a model of an investigation with a pending call and a pending question.
func waits(t *testing.T) *Model {
	t.Helper()
	m := New(id)
	m.Tick(at(42))
	m.Take(collecting())
	confirm := question
	confirm.Kind = confirmation
	m.Take(waiting(record.Waits{Approvals: []record.Approval{restart}, Questions: []record.Question{confirm}}))
	return m
}

// wanted compares requests without regard to where they were typed.
var wanted = cmpopts.IgnoreUnexported(Act{})

// Typed input never becomes an approval that the user did not write.
func TestDecisions(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	decide := func(approved *bool, reason string) *Act {
		return &Act{Do: Decide, Approved: approved, Text: reason, Approval: restart}
	}
	tests := []struct {
		name, typed, lacking string
		want                 *Act
		said                 string
		stays                bool // the prompt stays open
	}{
		{name: "yes", typed: "y", want: decide(&yes, "")},
		{name: "nearly yes", typed: "OK", said: "type y to approve the call, or n or a reason to deny it", stays: true},
		{name: "a whole word", typed: " YES ", want: decide(&yes, "")},
		{name: "no", typed: "n", want: decide(&no, "")},
		{name: "a reason", typed: "not on a Friday", want: decide(&no, "not on a Friday")},
		{name: "a reason that begins with yes", typed: "yes, but later", want: decide(&no, "yes, but later")},
		{name: "yes and more", typed: "y later", want: decide(&no, "y later")},
		{name: "Enter alone", said: "not decided: the call is still pending"},
		{name: "not all is here", typed: "y", lacking: "the first 9 of 10 bytes",
			said: "the call cannot be approved here: the first 9 of 10 bytes", stays: true},
		{name: "denied though not all is here", typed: "n", lacking: "the first 9 of 10 bytes", want: decide(&no, "")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := waits(t)
			if got, want := press(m, "a"), (&Act{Do: Read, Approval: restart}); !cmp.Equal(got, want, wanted) {
				t.Fatalf("a: %+v", got)
			}
			m.Asked(restart, tt.lacking)
			got := press(m, "read", "text:"+tt.typed, "enter")
			if diff := cmp.Diff(tt.want, got, wanted); diff != "" || m.said != tt.said || (m.prompt != nil) != tt.stays {
				t.Errorf("said %q, prompt %v; -want +got:\n%s", m.said, m.prompt, diff)
			}
		})
	}
}

// Tab leads to more ways than yes and no. No approval skips what must be read.
func TestWays(t *testing.T) {
	t.Parallel()
	yes, edited := true, `{"pod":"db-2","grace":30}`
	long := remembered
	long.Arguments = fmt.Sprintf(`{"script":[%s"the end"]}`, strings.Repeat(`"one line of it",`, 60))
	hidden := remembered
	hidden.Hidden = 7
	retype := func(text string) []string { return []string{"clear", "text:" + text, "enter"} }
	tests := []struct {
		name  string
		call  record.Approval
		keys  []string
		want  *Act
		said  string
		stays bool
	}{
		{"edit", restart, append([]string{"tab"}, retype(edited)...),
			&Act{Do: Decide, Way: Edit, Text: edited, Approved: &yes, Approval: restart}, "", false},
		{"edit nothing", restart, []string{"tab", "enter"}, nil,
			"the arguments are unchanged; to approve them as they are, press Shift+Tab", true},
		{"edit to a list", restart, append([]string{"tab"}, retype(`[1]`)...), nil,
			"the arguments must be a JSON object", true},
		{"edit to no JSON", restart, append([]string{"tab"}, retype(`{"pod":}`)...), nil,
			"the arguments are not valid JSON: invalid character '}' looking for beginning of value", true},
		{"edit what was not read", long, append([]string{"tab"}, retype(edited)...), nil, "read the whole text first (PgDn)", true},
		{"edit what is masked", hidden, []string{"tab", "text:why?", "enter"},
			&Act{Do: Decide, Way: AskAgent, Text: "why?", Approval: hidden}, "", false},
		{"ask the agent", restart, []string{"tab", "tab", "text:why?", "enter"},
			&Act{Do: Decide, Way: AskAgent, Text: "why?", Approval: restart}, "", false},
		{"reassign", restart, []string{"tab", "tab", "tab", "text:@ada", "enter"},
			&Act{Do: Decide, Way: Reassign, Text: "@ada", Approval: restart}, "", false},
		{"around", restart, []string{"tab", "tab", "tab", "tab", "text:n", "enter"}, &Act{Do: Decide, Approved: new(false), Approval: restart},
			"", false},
		{"always asks for a preview", remembered, []string{"tab", "tab", "tab", "tab"}, &Act{Do: Preview, Approval: remembered},
			"testing the rule on past calls …", true},
		{"always without it", remembered, []string{"tab", "tab", "tab", "tab", "text:y", "enter"}, nil,
			"first read which past calls the rule would have allowed", true},
		{"always before it is read", remembered, []string{"tab", "tab", "tab", "tab", "preview", "text:y", "enter"}, nil, "", true},
		{"always", remembered, []string{"tab", "tab", "tab", "tab", "preview", "read", "text:y", "enter"},
			&Act{Do: Decide, Way: Always, Approved: &yes, Approval: remembered}, "", false},
		{"always for 8 hours", remembered, []string{"tab", "tab", "tab", "tab", "preview", "read", "text:y 8h", "enter"},
			&Act{Do: Decide, Way: Always, Approved: &yes, For: 8 * time.Hour, Approval: remembered}, "", false},
		{"always for some time", remembered, []string{"tab", "tab", "tab", "tab", "preview", "read", "text:y soon", "enter"}, nil,
			"type y, or y and a duration, such as y 8h", true},
		{"always is no reason", remembered, []string{"tab", "tab", "tab", "tab", "preview", "read", "text:not now", "enter"}, nil,
			"type y, or y and a duration, such as y 8h", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := waits(t)
			m.Take(waiting(record.Waits{Approvals: []record.Approval{tt.call}}))
			m.Asked(tt.call, "")
			got := press(m, "read")
			for _, key := range tt.keys {
				switch key {
				case "clear":
					m.prompt.input.SetValue("")
				case "preview":
					m.Previewed(tt.call, "It would have allowed 1 of the last 9 calls.", nil)
				default:
					got = press(m, key)
				}
			}
			if diff := cmp.Diff(tt.want, got, wanted); diff != "" || m.said != tt.said || (m.prompt != nil) != tt.stays {
				t.Errorf("said %q, prompt %v; -want +got:\n%s", m.said, m.prompt, diff)
			}
		})
	}
}

// TestTheDeadlineOfAPromptCounts checks that an open prompt shows the time that is left now, and none while paused.
func TestTheDeadlineOfAPromptCounts(t *testing.T) {
	t.Parallel()
	m := waits(t)
	m.Asked(restart, "")
	for _, test := range []struct {
		now     time.Time
		expires time.Time
		want    string
	}{
		{at(60), at(3600), "auto-denied in 59 min"},
		{at(600), at(3600), "auto-denied in 50 min"},
		{at(3590), at(3600), "auto-denied in 10 s"},
		{at(3590), time.Time{}, "no deadline while paused"},
	} {
		now := restart
		now.Expires = test.expires
		m.Take(waiting(record.Waits{Approvals: []record.Approval{now}}))
		m.Tick(test.now)
		frame := ansi.Strip(m.Frame())
		if words := strings.Join(strings.Fields(frame), " "); !strings.Contains(words, test.want) {
			t.Errorf("no %q in\n%s", test.want, frame)
		}
	}
}

// A refused decision stays where it was typed, with the reason, as long as the call is pending.
func TestARefusedDecision(t *testing.T) {
	t.Parallel()
	m := waits(t)
	m.Asked(restart, "")
	press(m, "read", "tab")
	m.prompt.input.SetValue(`{"pod":7}`)
	act := press(m, "enter")
	if act == nil || m.prompt != nil {
		t.Fatalf("%+v, prompt %v", act, m.prompt)
	}
	m.Refused(*act, "/pod: got number, want string")
	if frame := ansi.Strip(m.Frame()); !strings.Contains(frame, "got number, want string") ||
		!strings.Contains(frame, `arguments> {"pod":7}`) {
		t.Errorf("the frame is\n%s", frame)
	}
	m.prompt.input.SetValue(`{"pod":"x"}`)
	if act := press(m, "enter"); act != nil { // the user pressed it before seeing the reason
		t.Errorf("sent at once: %+v", act)
	}
	if act = press(m, "read", "enter"); act == nil || act.Text != `{"pod":"x"}` {
		t.Fatalf("put right: %+v", act)
	}
	m.Take(waiting(record.Waits{}))
	if m.Refused(*act, "it comes too late"); m.prompt != nil {
		t.Error("a call is asked about that does not wait")
	}
}

// An error reopens only the prompt of the decision that failed.
func TestARefusalOfSomethingElse(t *testing.T) {
	t.Parallel()
	m, other := waits(t), restart
	other.CallID, other.Digest = "c1_1", "another call"
	m.Take(waiting(record.Waits{Approvals: []record.Approval{restart, other}}))
	var failed error
	s := &screen{model: m, do: func(Act) (string, error) { return "approved, and one more person is needed", failed }}
	decided := func(a record.Approval) tea.Cmd {
		m.Asked(a, "")
		return s.act(*press(m, "read", "text:y", "enter"))
	}
	done := func(cmd tea.Cmd, err error) {
		failed = err
		s.Update(cmd())
	}
	done(decided(restart), nil) // the call is still pending
	if done(s.act(*press(m, "p")), errors.New("pause was refused")); m.prompt != nil || m.said != "pause was refused" {
		t.Errorf("a pause is refused, and the prompt is %+v", m.prompt)
	}
	first, second := decided(restart), decided(other)
	done(first, errors.New("you may not"))
	if p := m.prompt; p == nil || !same(restart)(p.approval) || p.refused != "you may not" {
		t.Fatalf("the first of two decisions is refused, and the prompt is %+v", p)
	}
	press(m, "esc")
	if done(second, nil); m.prompt != nil {
		t.Errorf("the second one is made, and the prompt is %+v", m.prompt)
	}
}

// A reopened prompt starts from its beginning: scrolling meanwhile does not count as reading.
func TestARefusedDecisionAboutALongCall(t *testing.T) {
	t.Parallel()
	m, long := waits(t), restart
	long.Arguments = fmt.Sprintf(`{"script":[%s"the end"]}`, strings.Repeat(`"one line of it",`, 60))
	m.Asked(long, "")
	act := press(m, "read", "text:n", "enter")
	m.back = 1000
	m.Refused(*act, "the worker is gone")
	if press(m, "read"); m.prompt.Read || !strings.Contains(ansi.Strip(m.Frame()), "asks to call") {
		t.Errorf("read: %v\n%s", m.prompt.Read, m.Frame())
	}
}

// A call longer than the screen cannot be approved before its end has been shown.
func TestALongCallIsRead(t *testing.T) {
	t.Parallel()
	m, long := waits(t), restart
	long.Arguments = fmt.Sprintf(`{"script":[%s"the end"]}`, strings.Repeat(`"one line of it",`, 60))
	m.Asked(long, "")
	if !strings.Contains(m.Frame(), "lines below (PgDn)") {
		t.Errorf("it is cut in silence:\n%s", m.Frame())
	}
	for pages := 0; ; pages++ {
		m.prompt.input.SetValue("")
		m.Tick(m.now.Add(promptDelay))
		act := press(m, "text:y", "enter")
		end := strings.Contains(m.Frame(), "the end")
		switch {
		case act != nil && act.Do == Decide && *act.Approved:
			if pages < 3 {
				t.Errorf("approved after %d pages", pages)
			}
			return
		case m.said != "read the whole call first (PgDn)":
			t.Fatalf("said %q", m.said)
		case pages > 20:
			t.Fatalf("not approved after %d pages, end: %v", pages, end)
		}
		press(m, "pgdown")
		fits(t, m.Frame(), 80, 24)
	}
}

// Keys pressed before a call was on the screen do not apply to it, and neither does continued typing.
func TestKeysThatComeTooEarly(t *testing.T) {
	t.Parallel()
	m := waits(t)
	m.Asked(restart, "")
	m.Frame()
	if act := press(m, "text:n", "enter", "text:y"); act != nil || m.prompt == nil || m.prompt.input.Value() != "" {
		t.Fatalf("%+v", act)
	}
	m.Paste(tea.PasteMsg{Content: "y"})
	for range 3 { // the user keeps typing
		m.Tick(m.now.Add(promptDelay / 2))
		press(m, "text:y")
	}
	if act := press(m, "read", "enter"); act != nil || m.said != "not decided: the call is still pending" {
		t.Errorf("%+v, said %q", act, m.said)
	}
}

// If someone else has decided the call and another one is pending, the prompt closes.
func TestACallThatWaitsNoMore(t *testing.T) {
	t.Parallel()
	m, other := waits(t), restart
	other.Digest = "another call"
	m.Asked(restart, "")
	press(m, "read", "text:y")
	m.Take(waiting(record.Waits{Approvals: []record.Approval{other}}))
	if act := press(m, "enter"); act != nil || m.prompt != nil || !strings.Contains(m.said, "no longer pending") {
		t.Errorf("%+v, said %q", act, m.said)
	}
	m.Asked(restart, "") // its arguments were being read meanwhile
	if m.prompt != nil {
		t.Error("a call is asked about that does not wait")
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	yes := true
	paused := store.Update{Record: investigation(agent.StatusPaused)}
	confirm := question
	confirm.Kind = confirmation
	reviewed, looked := question, question
	reviewed.Kind, reviewed.Review, looked.Kind = review, true, review
	no := false
	long := confirm
	long.Question = strings.Repeat("line\n", 30)
	tests := []struct {
		name string
		news *store.Update
		keys []string
		want *Act
	}{
		{"pause", nil, []string{"p"}, &Act{Do: Pause}},
		{"go on", &paused, []string{"p"}, &Act{Do: Resume}},
		{"guide", nil, []string{"g", "text:look at the pool", "enter"}, &Act{Do: Guide, Text: "look at the pool"}},
		{"guide with nothing", nil, []string{"g", "enter"}, nil},
		{"keys are letters while one types", nil, []string{"g", "text:qpc?", "enter"}, &Act{Do: Guide, Text: "qpc?"}},
		{"conclude", nil, []string{"c", "y", "enter"}, &Act{Do: Conclude}},
		{"do not conclude", nil, []string{"c", "enter"}, nil},
		{"leave", nil, []string{"q"}, &Act{Do: Leave}},
		{"nothing waits", nil, []string{"a"}, nil},
		{"answer", &store.Update{Waits: &record.Waits{Questions: []record.Question{question}}}, []string{"a", "text:the other", "enter"},
			&Act{Do: Answer, Text: "the other", Question: question}},
		{"send back", &store.Update{Waits: &record.Waits{Questions: []record.Question{reviewed}}}, []string{"a", "read", "text:n again", "enter"},
			&Act{Do: Answer, Approved: &no, Text: "again", Question: reviewed}},
		{"say what is to be done", &store.Update{Waits: &record.Waits{Questions: []record.Question{looked}}},
			[]string{"a", "text:again", "enter"},
			&Act{Do: Answer, Text: "again", Question: looked}},
		{"confirm", &store.Update{Waits: &record.Waits{Questions: []record.Question{confirm}}}, []string{"a", "read", "text:y go on", "enter"},
			&Act{Do: Answer, Approved: &yes, Text: "go on", Question: confirm}},
		{"confirm with neither", &store.Update{Waits: &record.Waits{Questions: []record.Question{confirm}}},
			[]string{"a", "read", "text:perhaps", "enter"}, nil},
		{"confirm before it was drawn", &store.Update{Waits: &record.Waits{Questions: []record.Question{confirm}}},
			[]string{"a", "text:y", "enter"}, nil},
		{"confirm what is longer than the screen", &store.Update{Waits: &record.Waits{Questions: []record.Question{long}}},
			[]string{"a", "read", "text:y", "enter"}, nil},
		{"confirm what was read", &store.Update{Waits: &record.Waits{Questions: []record.Question{long}}},
			[]string{"a", "read", "pgdown", "read", "pgdown", "read", "text:y", "enter"}, &Act{Do: Answer, Approved: &yes, Question: long}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := New(id)
			m.Tick(at(42))
			m.Take(collecting())
			if tt.news != nil {
				m.Take(*tt.news)
			}
			if diff := cmp.Diff(tt.want, press(m, tt.keys...), wanted); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// For any terminal size and any keys: whatever is approved or agreed to has been on the screen, line by line.
func TestWhatIsApprovedWasRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := crowded(rapid.IntRange(0, 8).Draw(t, "agents"), rapid.IntRange(0, 6).Draw(t, "questions"))
		m.Resize(widths.Draw(t, "width"), heights.Draw(t, "height"))
		var words []string
		for n := range rapid.IntRange(1, 60).Draw(t, "length") {
			words = append(words, fmt.Sprintf("\"line%d;\"", n))
		}
		call, shown := restart, map[string]bool{}
		call.Arguments = "[" + strings.Join(words, ",") + "]"
		m.Asked(call, "")
		for _, do := range rapid.SliceOfN(rapid.SampledFrom([]string{"read", "read", "pgdown", "pgdown", "pgup", "size", "text:y", "said"}), 0,
			120).Draw(t, "keys") {
			switch do {
			case "read":
				press(m, do)
				frame := m.Frame()
				for _, word := range words {
					shown[word] = shown[word] || strings.Contains(frame, strings.Trim(word, `"`))
				}
			case "size":
				m.Resize(widths.Draw(t, "width"), heights.Draw(t, "height"))
			case "said":
				m.Say("said")
			default:
				press(m, do)
			}
		}
		m.Tick(m.now.Add(promptDelay))
		m.prompt.input.SetValue("y")
		act := press(m, "enter")
		for _, word := range words {
			if act != nil && !shown[word] {
				t.Errorf("%s was not shown", word)
			}
		}
	})
}

// The keys stay visible even if notices and agents leave no room for text.
func TestAFullScreen(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		width, height := widths.Draw(t, "width"), heights.Draw(t, "height")
		m := crowded(rapid.IntRange(0, 8).Draw(t, "agents"), rapid.IntRange(0, 6).Draw(t, "questions"))
		m.Resize(width, height)
		last := "q quit"
		if rapid.Bool().Draw(t, "prompt") {
			press(m, "g")
			last = "Enter sends"
		}
		m.Say("said")
		frame := m.Frame()
		if width < minWidth || height < minHeight {
			height = 1
		} else if !strings.Contains(frame, last) {
			t.Errorf("no keys:\n%s", frame)
		}
		fits(t, frame, width, height)
	})
}

var (
	widths  = rapid.SampledFrom([]int{1, minWidth - 1, minWidth, 60, 80, 200})
	heights = rapid.SampledFrom([]int{1, minHeight - 1, minHeight, minHeight + 1, 18, 24, 50})
)

// crowded returns an investigation with a number of agents, a pending call and a number of questions.
func crowded(agents, questions int) *Model {
	m := New(id)
	m.Tick(at(42))
	w := record.Waits{Approvals: []record.Approval{restart}}
	for n := range questions {
		w.Questions = append(w.Questions, record.Question{ID: fmt.Sprint(n), Kind: confirmation, Stage: "collect",
			Question: "Go on?", Expires: at(3600)})
	}
	u := waiting(w)
	for n := range agents {
		u.Executions = append(u.Executions, execution(fmt.Sprintf("collect/Agent%d", n), agent.StatusRunning))
	}
	m.Take(u)
	return m
}

// For any output of models and tools and any terminal size: a frame fits, and contains only text and our own colours.
func TestFramesOfAnything(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"word ", "日本語", "🚀", "e\u0301", "\x1b]0;owned\x07", "\x1b[2J", "\u202e", "\u200b", "\t", "\n", "\r", "\x9b31m", "\xff",
		"`code` ", "**bold** ",
		"| a | b |\n|---|---|\n| 1 | 2 |\n", strings.Repeat("x", 150), "\n\n- item ", "```\nfenced ", "👩‍👩‍👧", "\x00",
	}
	rapid.Check(t, func(t *rapid.T) {
		say := func(label string) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, label), "")
		}
		u := collecting()
		call := transcript.Call{Name: say("tool"), Arguments: say("arguments")}
		name := "st" + say("stage") + "/" + say("agent")
		var j journal
		j.seq = 100
		u.Record.Chain, u.Record.Envelope.Pending = say("chain"), []string{say("pending")}
		u.Entries = append(u.Entries,
			j.entry(name, pos(1, 0), 1, transcript.KindUser, text(say("user"))),
			j.entry(name, pos(1, 2), 9, transcript.KindReply, transcript.Body{Thinking: say("thinking"), Text: say("text"),
				Calls: []transcript.Call{call}}),
			j.entry(name, transcript.ResultKey(1, 0), 9, transcript.KindResult,
				transcript.Body{Text: say("result"), Call: &call, ErrorType: say("error")}),
			j.entry(name, pos(2, 0), 9, transcript.KindNotice, text(say("notice"))),
		)
		u.Live = []transcript.Live{tail(name, say("live thinking"), say("live text"))}
		a := restart
		a.Execution, a.Tool, a.Arguments = name, say("asked"), say("asked arguments")
		u.Waits = &record.Waits{
			Approvals: []record.Approval{a}, Questions: []record.Question{{ID: "q", Stage: say("asks"), Question: say("question")}},
			Outages: []record.Outage{{Execution: logs, Provider: say("provider"), Error: say("outage"), Fallback: say("fallback")}},
		}
		m := New(say("id"))
		width, height := rapid.IntRange(minWidth, 220).Draw(t, "width"), rapid.IntRange(14, 60).Draw(t, "height")
		m.Resize(width, height)
		m.Tick(at(50))
		m.Take(u)
		for _, do := range []func(){
			func() {}, func() { press(m, "f", "down") }, func() { press(m, "down", "pgup") }, func() { press(m, "r") }, func() { press(m, "?") },
			func() { m.Say(say("said")) }, func() { m.Asked(a, say("lacking")) }, func() { press(m, "read", "tab") },
			func() { m.Previewed(a, say("preview"), nil) }, func() { m.Refused(Act{}, say("refused")) },
		} {
			do()
			frame := m.Frame()
			for _, line := range strings.Split(frame, "\n") {
				if n := ansi.StringWidth(line); n > width {
					t.Errorf("%d columns on a terminal with %d: %q", n, width, line)
				}
			}
			if n := strings.Count(frame, "\n") + 1; n != height {
				t.Errorf("%d lines on a terminal with %d", n, height)
			}
			if at := strings.IndexFunc(ansi.Strip(frame), func(r rune) bool { return reveal.Hidden(r) || r == '\x1b' }); at >= 0 {
				t.Errorf("a hidden character: %q", ansi.Strip(frame)[at:])
			}
			if strings.Contains(frame, "\x1b]") || strings.Contains(frame, "\x1b[2J") {
				t.Errorf("an escape sequence of others: %q", frame)
			}
		}
	})
}

// A call that cannot be approved with yes cannot be approved in another way either.
func TestWaysOfACallThatIsNotWhole(t *testing.T) {
	t.Parallel()
	m := waits(t)
	m.Take(waiting(record.Waits{Approvals: []record.Approval{remembered}}))
	m.Asked(remembered, "the first 9 of 10 bytes")
	if !strings.Contains(m.prompt.Text, "Tab for other options: ask the agent, reassign") || len(m.prompt.ways) != 3 {
		t.Errorf("%+v\n%s", m.prompt.ways, m.prompt.Text)
	}
}

// Edited arguments keep the call's values and fit on one line, so that users change only what they touch.
func TestEditingChangesNothingElse(t *testing.T) {
	t.Parallel()
	manifest := `"spec:\n  replicas: 3\n  template:\n\tx:  1"`
	for name, arguments := range map[string]string{
		"YAML":              `{"grace":30,"manifest":` + manifest + `}`,
		"laid out":          "{\r\n\t\"grace\": 30,\n  \"manifest\":  " + manifest + "\n}\n",
		"spaces":            `{"grace":30,"a  b":"  two  spaces  "}`,
		"unseen":            "{\"grace\":30,\"dev\u200bprod\":\"a\u200bb\u00a0c\u2028d\u3000e\x7f\ufeff\"}",
		"look-alikes":       `{"grace":30,"host":"gооgle.com","path":"C:\\new\\","quote":"\" : \""}`,
		"not a character":   "{\"grace\":30,\"a\":\"\ufffd\",\"b\":\"\xff\xff\",\"c\":\"\\ud800\"}",
		"numbers":           `{"grace":30,"id":12345678901234567890123,"huge":1e400,"exact":0.10,"minus":-0}`,
		"one key twice":     `{"grace":30,"pod":"a","pod":"b"}`,
		"what HTML escapes": `{"grace":30,"a":"<b> & c"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, call := waits(t), restart
			call.Arguments = arguments
			m.Asked(call, "")
			if act := press(m, "read", "tab", "read", "enter"); act != nil || !strings.HasPrefix(m.said, "the arguments are unchanged") {
				t.Fatalf("%+v, said %q", act, m.said)
			}
			m.prompt.Read = true
			m.prompt.input.SetValue(strings.Replace(m.prompt.input.Value(), `"grace":30`, `"grace":31`, 1))
			act := press(m, "enter")
			if act == nil {
				t.Fatalf("said %q", m.said)
			}
			if reveal.Hides(act.Text) || strings.ContainsAny(act.Text, "\n\t") {
				t.Errorf("it hides something: %q", act.Text)
			}
			want := strings.Replace(strings.Replace(arguments, `"grace": 30`, `"grace":30`, 1), `"grace":30`, `"grace":31`, 1)
			if diff := cmp.Diff(values(t, want), values(t, act.Text)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// values returns the tokens of a JSON document, with numbers as written.
func values(t *testing.T, document string) (tokens []json.Token) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(document))
	d.UseNumber()
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return tokens
		}
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
}

// Text pasted into arguments keeps its line breaks and tabs within a string, visibly.
func TestPastingIntoArguments(t *testing.T) {
	t.Parallel()
	for pasted, want := range map[string]string{
		"spec:\r  replicas: 3\r\n\tx: \u200b1\n": `{"manifest":"spec:\n  replicas: 3\n\tx: \u200b1\n"}`,
		"two  spaces":                            `{"manifest":"two  spaces"}`,
	} {
		m := waits(t)
		m.Asked(restart, "")
		press(m, "read", "tab")
		m.prompt.input.SetValue(`{"manifest":"`)
		m.Paste(tea.PasteMsg{Content: pasted})
		if act := press(m, "text:\"}", "enter"); act == nil || act.Text != want {
			t.Errorf("%q: %+v, said %q", pasted, act, m.said)
		}
	}
	m := waits(t)
	m.Asked(restart, "")
	press(m, "read", "tab")
	m.prompt.input.SetValue("")
	m.Paste(tea.PasteMsg{Content: "{\r\n\t\"pod\": \"a  b\"\r\n}\r\n"})
	if act := press(m, "enter"); act == nil || act.Text != `{"pod":"a  b"}` {
		t.Errorf("a document: %+v, said %q", act, m.said)
	}
}

// The steering keys are visible on a terminal of 80 columns, with and without pending items.
func TestKeysInSight(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status agent.Status
		waits  record.Waits
		keys   string
	}{
		"a call waits":     {agent.StatusWaitingApproval, record.Waits{Approvals: []record.Approval{restart}}, "a approve/deny,p pause"},
		"a question waits": {agent.StatusWaitingAnswer, record.Waits{Questions: []record.Question{question}}, "a answer,p pause"},
		"nothing waits":    {agent.StatusRunning, record.Waits{}, "p pause"},
		"paused":           {agent.StatusPaused, record.Waits{}, "p resume"},
	} {
		m := New(id)
		m.Tick(at(42))
		m.Take(collecting())
		m.Take(store.Update{Record: investigation(tt.status), Waits: &tt.waits})
		footer := ansi.Strip(m.Frame())
		footer = footer[strings.LastIndexByte(footer, '\n')+1:]
		for _, key := range append(strings.Split(tt.keys, ","), "g guide", "c conclude", "r report", "q quit") {
			if !strings.Contains(" "+footer, " "+key) {
				t.Errorf("%s: %q is not in %q", name, key, footer)
			}
		}
	}
}
