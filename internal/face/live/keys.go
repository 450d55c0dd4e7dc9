package live

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
)

// Verb is a user action.
type Verb string

// The verbs. Leave only stops watching. Read requests all arguments of a call, for Model.Asked. Preview requests the effect of a rule
// based on a call, for Model.Previewed.
const (
	Pause    Verb = "pause"
	Resume   Verb = "resume"
	Guide    Verb = "guide"
	Conclude Verb = "conclude"
	Decide   Verb = "decide"
	Answer   Verb = "answer"
	Read     Verb = "read"
	Preview  Verb = "preview"
	Leave    Verb = "leave"
)

// Act is a user's request.
type Act struct {
	Do Verb
	// Text is the guidance, the answer, the reason for a decision, or the input for its Way.
	Text string
	Way  Way           // of a decision
	For  time.Duration // how long a rule lasts
	// Approved is the decision or the answer to a question; nil means neither.
	Approved *bool
	Approval record.Approval // as shown to the user
	Question record.Question

	typed *typing // where a decision was typed
}

// keys lists the keys for the footer and the help, most important first. The help has all of them, the footer as many as fit.
var keys = []struct {
	key, short, long string
	when             func(*Model) bool // whether it has an effect; nil means always
}{
	{"a", "approve/deny", "approve or deny the pending call", (*Model).decides},
	{"a", "answer", "answer the pending question", (*Model).answers},
	{"q", "quit", "quit this view (or Ctrl-C); the investigation continues", nil},
	{"?", "help", "show or hide this help", nil},
	{"p", "pause", "pause: no more model calls until you resume", func(m *Model) bool { return !m.paused() }},
	{"p", "resume", "resume the investigation", (*Model).paused},
	{"g", "guide", "send guidance, which agents see before their next model call", nil},
	{"c", "conclude", "conclude: finish now with what is known so far", nil},
	{"r", "report", "show or hide the report so far", nil},
	{"↑↓", "agent", "select another agent (or k, j, Tab)", func(m *Model) bool { return len(m.lanes) > 1 }},
	{"f", "fold", "fold or unfold thinking, calls and results", nil},
	{"PgUp/PgDn", "scroll", "scroll the text (Home, End: to the top, to the bottom)", nil},
}

func (m *Model) help() (lines []string) {
	for _, k := range keys {
		lines = append(lines, terminal.Wrap(fmt.Sprintf("%-10s %s", k.key, k.long), m.width)...)
	}
	return append(lines, "", terminal.Fit(terminal.CleanLine("investigation "+m.id), m.width))
}

const sendHint = "Enter sends · Esc cancels"

// decides reports whether the key "a" decides on a call. Calls come before questions.
func (k *known) decides() bool { return len(k.waits.Approvals) > 0 }

// answers reports whether the key "a" answers a question.
func (k *known) answers() bool { return !k.decides() && len(k.waits.Questions) > 0 }

// Key handles a key and returns the user's request; nil means that only the screen changes.
func (m *Model) Key(k tea.KeyPressMsg) *Act {
	key := k.String()
	if key == "ctrl+c" {
		return &Act{Do: Leave}
	}
	if m.scroll(key) {
		return nil
	}
	if m.prompt != nil {
		return m.promptKey(k)
	}
	switch key {
	case "q":
		return &Act{Do: Leave}
	case "up", "k":
		m.move(-1)
	case "down", "j", "tab":
		m.move(1)
	case "f", "enter":
		m.open = !m.open
	case "?":
		m.turn(helpPage)
	case "r":
		m.turn(reportPage)
	case "esc":
		m.turn(textPage)
	case "p":
		if m.paused() {
			return &Act{Do: Resume}
		}
		return &Act{Do: Pause}
	case "g":
		m.ask(&Prompt{do: Guide, title: "guide the agents", Ask: "guide> ", hint: sendHint,
			Text: "All running agents see your message before their next model call."})
	case "c":
		m.ask(&Prompt{do: Conclude, title: "conclude", Ask: "conclude now? [y/n] ", hint: "y concludes · Enter alone or Esc: continue",
			Text: "The agents finish now with their findings so far."})
	case "a":
		return m.need()
	}
	return nil
}

// scroll scrolls the text if the key is a scroll key. In a prompt, it cannot skip lines that have not been on the screen.
func (m *Model) scroll(key string) bool {
	page := max(min(m.height/2, m.rows), 1)
	step := map[string]int{"pgup": page, "pgdown": -page, "home": 1 << 20, "end": -(1 << 20)}[key]
	if step == 0 || m.prompt != nil && (key == "home" || key == "end") {
		return false
	}
	if m.prompt != nil || m.page != textPage { // these begin at the top
		step = -step
	}
	m.back = max(m.back+step, 0)
	if m.prompt != nil {
		m.back = min(m.back, m.prompt.seen)
	}
	return true
}

// move moves the focus.
func (m *Model) move(by int) {
	if n := len(m.lanes); n > 0 {
		m.focus, m.back, m.chosen, m.page = (m.focus+by+n)%n, 0, true, textPage
	}
}

// turn switches to a page, or back to the text if that page is shown already.
func (m *Model) turn(p page) {
	if m.page == p {
		p = textPage
	}
	m.page, m.back = p, 0
}
