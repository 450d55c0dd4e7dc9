package liveview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/internal/terminal"
)

// Prompt is what a person is asked.
type Prompt struct {
	do       Verb
	title    string
	Text     string // what it is about
	Ask      string // stands before what the person types
	Read     bool   // the end of the text has been on the screen
	hint     string
	approval record.Approval
	question record.Question
	lacking  string // why the text is not all of the call

	Way                 // that the person types for; "" = yes, no or a reason
	ways      []offered // that Tab goes through
	previewed bool      // the text says what a rule would have let through
}

// typing is a prompt that a person answers in the view.
type typing struct {
	*Prompt
	input textinput.Model
	seen  int       // lines of the text, from the first one, that have been on the screen
	since time.Time // it stands, or a key came too early

	at      int            // the way, of those that are offered
	drafts  map[Way]string // what was typed for the others
	refused string         // why what was typed before was not done
}

// line is where the person types.
func (t *typing) line(width int) string {
	t.input.SetWidth(max(width-ansi.StringWidth(t.Ask)-1, 1))
	return t.input.View()
}

func (m *Model) ask(p *Prompt) {
	input := textinput.New()
	input.Prompt = p.Ask
	input.Focus()
	m.prompt, m.back, m.said = &typing{Prompt: p, input: input, since: m.now, drafts: map[Way]string{}}, 0, ""
}

// need asks what is waited for, of the focused agent first.
func (m *Model) need() *Act {
	l := m.focused()
	if a, ok := m.approvalOf(l.nameOr()); ok {
		return &Act{Do: Read, Approval: a}
	}
	if len(m.waits.Approvals) > 0 {
		return &Act{Do: Read, Approval: m.waits.Approvals[0]}
	}
	if len(m.waits.Questions) > 0 {
		m.ask(QuestionPrompt(m.waits.Questions[0]))
		return nil
	}
	m.Say("nothing waits for you")
	return nil
}

func (l *lane) nameOr() string {
	if l == nil {
		return ""
	}
	return l.name
}

// Asked shows a call that waits, to be decided.
func (m *Model) Asked(a record.Approval, lacking string) {
	p := DecisionPrompt(a, lacking, m.now)
	p.offer(a)
	switch {
	case !p.WaitsIn(m.waits):
		m.Say(p.title + ": no longer pending")
	case m.prompt == nil:
		m.ask(p)
	}
}

// DecisionPrompt asks whether a call is to be made. lacking says why its arguments are not
// whole, and then it cannot be approved here.
func DecisionPrompt(a record.Approval, lacking string, now time.Time) *Prompt {
	tool := terminal.CleanLine(reveal.Name(a.Tool))
	text := fmt.Sprintf("%s%s asks to call %s (risk %s): %s.", a.HiddenNote(), a.Execution, tool, a.Risk,
		reveal.Text(a.Deadline(a.LeftAt(now.UTC()))))
	if why := a.Why(); len(why) > 0 {
		text += "\n\n" + reveal.Text(strings.Join(why, "\n"))
	}
	text += "\n\n" + reveal.Indented(a.Arguments, "")
	if lacking != "" {
		text += "\n… " + lacking
	}
	for _, fact := range a.Facts() {
		text += "\n· " + reveal.Text(fact)
	}
	p := &Prompt{do: Decide, title: "decide " + tool, Text: terminal.Clean(text), approval: a, lacking: lacking}
	p.Ask = "approve " + terminal.Fit(tool, maxTool) + "? [y/N/reason] "
	p.hint = "y approves · n or a reason denies · Enter alone decides nothing · Esc cancels"
	return p
}

// maxTool is how much of a tool's name stands before what a person types; all of it is above.
const maxTool = 30

// same tells whether a call is still the one that was shown.
func same(a record.Approval) func(record.Approval) bool {
	return func(b record.Approval) bool { return a.Name() == b.Name() && a.Digest == b.Digest }
}

const (
	confirmation = "confirmation" // the kind of a question that is agreed to
	review       = "agent_review" // that of one after a look at what an agent did
)

// agreed: a question needs a yes or a no.
func agreed(q record.Question) bool { return q.Kind == confirmation || q.Review }

// QuestionPrompt asks what an investigation asks people.
func QuestionPrompt(q record.Question) *Prompt {
	text := reveal.Text(q.Question)
	if len(q.Data) > 0 {
		text += "\n\n" + reveal.Indented(string(q.Data), "")
	}
	ask, hint := "answer> ", sendHint
	switch {
	case q.Kind == confirmation:
		ask = "agree? [y/N, and a remark] "
		hint = "y agrees · n denies, which ends the investigation · Enter alone answers nothing · Esc cancels"
	case q.Review:
		ask = "approve the result? [y/N, and a remark] "
		hint = "y approves · n sends it back with your remark · Enter alone answers nothing · Esc cancels"
	case q.Kind == review:
		ask = "what is to be done> "
	}
	return &Prompt{
		do: Answer, title: "question of " + terminal.CleanLine(q.Stage), Text: terminal.Clean(text), Ask: ask, hint: hint, question: q,
	}
}

// recheckPrompt ends a prompt whose call or question does not wait any more.
func (m *Model) recheckPrompt() {
	p := m.prompt
	if p == nil {
		return
	}
	if !p.WaitsIn(m.waits) {
		m.prompt, m.back = nil, 0
		m.Say(p.title + ": no longer pending")
	}
}

// WaitsIn reports whether what is asked still waits.
func (p *Prompt) WaitsIn(w record.Waits) bool {
	switch p.do {
	case Decide:
		return slices.ContainsFunc(w.Approvals, same(p.approval))
	case Answer:
		return slices.ContainsFunc(w.Questions, func(q record.Question) bool { return q.ID == p.question.ID })
	}
	return true
}

// settles is how long what is agreed to must have stood before keys count: those that come earlier
// were pressed for what was there before.
const settles = 500 * time.Millisecond

func (m *Model) settled() bool {
	p := m.prompt
	return p.do != Decide && !agreed(p.question) || m.now.Sub(p.since) >= settles
}

// Paste takes in a text that is pasted.
func (m *Model) Paste(msg tea.PasteMsg) {
	if m.prompt == nil || !m.settled() {
		return
	}
	if m.prompt.Way == Edit {
		msg.Content = oneLine(msg.Content)
	}
	m.prompt.input, _ = m.prompt.input.Update(msg)
}

// promptKey takes in a key of a person who types.
func (m *Model) promptKey(k tea.KeyPressMsg) *Act {
	p, key := m.prompt, k.String()
	switch {
	case key == "esc":
		m.prompt, m.back = nil, 0
		return nil
	case !m.settled():
		p.since = m.now
		return nil
	case key == "tab" && len(p.ways) > 0, key == "shift+tab" && len(p.ways) > 0:
		p.turn(map[string]int{"tab": 1, "shift+tab": -1}[key])
		if p.Way == Always && !p.previewed {
			m.Say("trying the rule on past calls …")
			return &Act{Do: Preview, Approval: p.approval}
		}
		return nil
	case key == "enter":
	default:
		p.input, _ = p.input.Update(k)
		return nil
	}
	p.refused = ""
	act, why := p.Act(strings.TrimSpace(p.input.Value()))
	if why != "" {
		m.Say(why)
	}
	if act != nil || p.input.Value() == "" {
		m.prompt, m.back = nil, 0
	}
	if act != nil && act.Do == Decide {
		act.typed = p
	}
	return act
}

// yeses are how one writes yes.
var yeses = map[string]bool{"y": true, "yes": true}

// soundsLikeYes is neither a clear yes nor a reason to deny something.
var soundsLikeYes = map[string]bool{
	"ok": true, "okay": true, "sure": true, "yep": true, "yeah": true, "approve": true, "approved": true, "allow": true, "go": true,
}

// Act is what a person wants who has written a text; nil = nothing, and why not.
func (p *Prompt) Act(text string) (act *Act, why string) {
	if text == "" {
		return nil, map[Verb]string{Decide: "not decided: the call waits", Answer: "not answered: the question waits"}[p.do]
	}
	if p.Way != "" {
		return p.byWay(text)
	}
	first, rest, _ := strings.Cut(text, " ")
	said := map[string]bool{"y": true, "yes": true, "n": false, "no": false}
	yes, clear := said[strings.ToLower(first)]
	act = &Act{Do: p.do, Text: text, Approval: p.approval, Question: p.question}
	switch {
	case p.do == Conclude && !yes:
		return nil, "not concluded"
	case p.do == Conclude:
		act.Text = ""
	case p.do == Decide && soundsLikeYes[strings.ToLower(text)]:
		return nil, "write y to approve it; n, or a reason, denies it"
	case p.do == Decide:
		yes = yes && rest == ""
		if yes && p.lacking != "" {
			return nil, "it cannot be approved here: " + p.lacking
		}
		if yes && !p.Read {
			return nil, "read the call to its end first (PgDn)"
		}
		act.Approved = &yes
		if clear && rest == "" {
			act.Text = ""
		}
	case agreed(p.question):
		if !clear {
			return nil, "write y or n, and then a remark if there is one"
		}
		if yes && !p.Read {
			return nil, "read the question to its end first (PgDn)"
		}
		act.Approved, act.Text = &yes, strings.TrimSpace(rest)
	}
	return act, ""
}
