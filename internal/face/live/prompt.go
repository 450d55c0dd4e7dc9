package live

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/record"
)

// Prompt is a question to the user.
type Prompt struct {
	do       Verb
	title    string
	Text     string // what it is about, after the first line of a decision, which has the time left
	Ask      string // precedes the user's input
	Read     bool   // the end of the text has been on the screen
	hint     string
	approval record.Approval
	question record.Question
	lacking  string // why the arguments are incomplete

	Way                 // what the user's input is for; empty means yes, no or a reason
	ways      []offered // Tab cycles through these
	previewed bool      // the text says what a rule would have allowed
}

// typing is a prompt that the user answers in the view.
type typing struct {
	*Prompt
	input textinput.Model
	seen  int       // lines of the text, from the first, that have been on the screen
	since time.Time // when it appeared or was last touched too early

	at      int            // index of the way in ways
	drafts  map[Way]string // unfinished input for the other ways
	refused string         // why the previous input was refused
}

// line returns the input line.
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

// need prompts for whatever needs a person, the focused agent first.
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
	m.Say("nothing needs your attention")
	return nil
}

func (l *lane) nameOr() string {
	if l == nil {
		return ""
	}
	return l.name
}

// Asked prompts for a decision on a pending call.
func (m *Model) Asked(a record.Approval, lacking string) {
	p := DecisionPrompt(a, lacking)
	p.offer(a)
	switch {
	case !p.WaitsIn(m.waits):
		m.Say(p.title + ": no longer pending")
	case m.prompt == nil:
		m.ask(p)
	}
}

// TextAt returns the subject of the prompt, with the time that is left.
func (p *Prompt) TextAt(now time.Time) string {
	if p.do != Decide {
		return p.Text
	}
	a := p.approval
	return terminal.Clean(fmt.Sprintf("%s%s asks to call %s (risk: %s); %s.", a.HiddenNote(), a.Execution,
		terminal.CleanLine(reveal.Name(a.Tool)), a.Risk, reveal.Text(a.Deadline(a.LeftAt(now.UTC()))))) + p.Text
}

// DecisionPrompt asks for approval of a call. lacking says why its arguments are incomplete, in which case it cannot be approved here.
func DecisionPrompt(a record.Approval, lacking string) *Prompt {
	tool := terminal.CleanLine(reveal.Name(a.Tool))
	var text string
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
	p.Ask = "approve " + terminal.Fit(tool, maxTool) + "? [y/n/reason] "
	p.hint = "y approves · n or a reason denies · Enter alone or Esc: decide later"
	return p
}

// maxTool is how much of a tool's name precedes the input. The text above has the full name.
const maxTool = 30

// same returns a function that reports whether a call is still the one that was shown.
func same(a record.Approval) func(record.Approval) bool {
	return func(b record.Approval) bool { return a.Name() == b.Name() && a.Digest == b.Digest }
}

const (
	confirmation = "confirmation" // question kind that needs a yes or a no
	review       = "agent_review" // question kind that needs a yes or a no after reviewing an agent's work
)

// agreed reports whether a question needs a yes or a no.
func agreed(q record.Question) bool { return q.Kind == confirmation || q.Review }

// QuestionPrompt asks an investigation's question.
func QuestionPrompt(q record.Question) *Prompt {
	text := reveal.Text(q.Question)
	if len(q.Data) > 0 {
		text += "\n\n" + reveal.Indented(string(q.Data), "")
	}
	ask, hint := "answer> ", sendHint
	switch {
	case q.Kind == confirmation:
		ask = "agree? [y/n, optional remark] "
		hint = "y agrees · n ends the investigation · Enter alone or Esc: answer later"
	case q.Review:
		ask = "approve the result? [y/n, optional remark] "
		hint = "y approves · n sends it back with your remark · Enter alone or Esc: answer later"
	case q.Kind == review:
		ask = "decision> "
	}
	return &Prompt{
		do: Answer, title: "question from " + terminal.CleanLine(q.Stage), Text: terminal.Clean(text), Ask: ask, hint: hint, question: q,
	}
}

// recheckPrompt closes a prompt whose call or question is no longer pending, and takes the current deadline of any other call.
func (m *Model) recheckPrompt() {
	p := m.prompt
	if p == nil {
		return
	}
	if !p.WaitsIn(m.waits) {
		m.prompt, m.back = nil, 0
		m.Say(p.title + ": no longer pending")
	}
	if n := slices.IndexFunc(m.waits.Approvals, same(p.approval)); p.do == Decide && n >= 0 {
		p.approval.Expires, p.approval.EscalatesTo = m.waits.Approvals[n].Expires, m.waits.Approvals[n].EscalatesTo
	}
}

// WaitsIn reports whether the prompt's call or question is still pending.
func (p *Prompt) WaitsIn(w record.Waits) bool {
	switch p.do {
	case Decide:
		return slices.ContainsFunc(w.Approvals, same(p.approval))
	case Answer:
		return slices.ContainsFunc(w.Questions, func(q record.Question) bool { return q.ID == p.question.ID })
	}
	return true
}

// promptDelay is how long a prompt must have been visible before keys count. Earlier keys were meant for whatever was on the screen before.
const promptDelay = 500 * time.Millisecond

func (m *Model) accepting() bool {
	p := m.prompt
	return p.do != Decide && !agreed(p.question) || m.now.Sub(p.since) >= promptDelay
}

// Paste handles pasted text.
func (m *Model) Paste(msg tea.PasteMsg) {
	if m.prompt == nil || !m.accepting() {
		return
	}
	if m.prompt.Way == Edit {
		msg.Content = oneLine(msg.Content)
	}
	m.prompt.input, _ = m.prompt.input.Update(msg)
}

// promptKey handles a key while a prompt is open.
func (m *Model) promptKey(k tea.KeyPressMsg) *Act {
	p, key := m.prompt, k.String()
	switch {
	case key == "esc":
		m.prompt, m.back = nil, 0
		return nil
	case !m.accepting():
		p.since = m.now
		return nil
	case key == "tab" && len(p.ways) > 0, key == "shift+tab" && len(p.ways) > 0:
		p.turn(map[string]int{"tab": 1, "shift+tab": -1}[key])
		if p.Way == Always && !p.previewed {
			m.Say("testing the rule on past calls …")
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

// yeses are the answers that mean yes.
var yeses = map[string]bool{"y": true, "yes": true}

// soundsLikeYes lists answers that are neither a clear yes nor a reason to deny.
var soundsLikeYes = map[string]bool{
	"ok": true, "okay": true, "sure": true, "yep": true, "yeah": true, "approve": true, "approved": true, "allow": true, "go": true,
}

// Act interprets the user's input. A nil act means that nothing happens, and why says why.
func (p *Prompt) Act(text string) (act *Act, why string) {
	if text == "" {
		return nil, map[Verb]string{Decide: "not decided: the call is still pending", Answer: "not answered: the question is still pending"}[p.do]
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
		return nil, "type y to approve the call, or n or a reason to deny it"
	case p.do == Decide:
		yes = yes && rest == ""
		if yes && p.lacking != "" {
			return nil, "the call cannot be approved here: " + p.lacking
		}
		if yes && !p.Read {
			return nil, "read the whole call first (PgDn)"
		}
		act.Approved = &yes
		if clear && rest == "" {
			act.Text = ""
		}
	case agreed(p.question):
		if !clear {
			return nil, "type y or n, then a remark if you have one"
		}
		if yes && !p.Read {
			return nil, "read the whole question first (PgDn)"
		}
		act.Approved, act.Text = &yes, strings.TrimSpace(rest)
	}
	return act, ""
}
