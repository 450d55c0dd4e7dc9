package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/record"
)

// Way is a way to decide on a call other than yes, no and a reason.
type Way string

// The ways.
const (
	Edit     Way = "edit"          // approve with the arguments in Act.Text
	AskAgent Way = "ask the agent" // ask the agent a question instead of making the call
	Reassign Way = "reassign"      // hand the decision to a group, a role, or a person as @name
	Always   Way = "always"        // approve this call and similar ones for Act.For; zero means until revoked
)

// offered is a way with the texts that precede and follow the user's input.
type offered struct {
	Way
	ask, hint string
}

// offer makes Tab cycle between a plain decision and the other ways for this call.
func (p *Prompt) offer(a record.Approval) {
	p.ways = []offered{{"", p.Ask, p.hint}}
	whole := p.lacking == ""
	if whole && a.Hidden == 0 {
		p.ways = append(p.ways, offered{Edit, "arguments> ", "Enter approves the call with these arguments · Tab: other options · Esc cancels"})
	}
	p.ways = append(p.ways,
		offered{AskAgent, "ask the agent> ", "Enter sends the question; the call is not made · Tab: other options · Esc cancels"},
		offered{Reassign, "reassign to> ", "a group, a role, or a person as @name · Tab: other options · Esc cancels"})
	if whole && a.Remember != "" {
		p.ways = append(p.ways, offered{Always, "approve this and similar calls? [y] ",
			"y: until revoked · y 8h: for 8 hours · Tab: other options · Esc cancels"})
	}
	var names []string
	for _, w := range p.ways[1:] {
		names = append(names, string(w.Way))
	}
	p.Text += "\n· Press Tab for other options: " + strings.Join(names, ", ")
}

// turn switches to another way and keeps the input for this one.
func (t *typing) turn(by int) {
	t.drafts[t.Way] = t.input.Value()
	t.at = (t.at + by + len(t.ways)) % len(t.ways)
	to := t.ways[t.at]
	draft, typed := t.drafts[to.Way]
	if !typed && to.Way == Edit {
		draft = oneLine(t.approval.Arguments)
	}
	t.Way, t.Ask, t.hint = to.Way, to.ask, to.hint
	t.input.Prompt = t.Ask
	t.input.SetValue(draft)
	t.input.CursorEnd()
}

// unbroken escapes, as in a JSON string, the characters that an input line cannot hold. Terminals paste line ends as carriage returns.
var unbroken = strings.NewReplacer("\r\n", `\n`, "\r", `\n`, "\n", `\n`, "\t", `\t`, "\ufffd", `\ufffd`)

// oneLine formats JSON for editing on one line: values stay the same, and invisible characters are escaped. Other text is treated as part
// of a JSON string.
func oneLine(text string) string {
	var out bytes.Buffer
	if json.Compact(&out, []byte(text)) == nil {
		text = out.String()
	}
	return reveal.JSON(unbroken.Replace(string([]rune(text)))) // runes turn invalid bytes into U+FFFD, as encoding/json does
}

// Previewed shows the past calls that a rule based on this call would have allowed.
func (m *Model) Previewed(a record.Approval, preview string, err error) {
	p := m.prompt
	switch {
	case p == nil || p.do != Decide || !same(a)(p.approval) || p.previewed:
	case err != nil:
		m.Say("cannot make a rule from this call: " + err.Error())
	default:
		p.Text += "\n\n" + terminal.Clean(preview)
		p.previewed, p.Read, p.since, m.said = true, false, m.now, ""
	}
}

// Refused says why a request was not carried out. If it was a decision, the user can correct the input.
func (m *Model) Refused(act Act, why string) {
	m.Say(why)
	if t := act.typed; t != nil && m.prompt == nil && t.WaitsIn(m.waits) {
		m.prompt, m.back = t, 0
		t.seen, t.refused, t.since = 0, terminal.CleanLine(why), m.now
	}
}

// byWay interprets the user's input for a way. A nil act means that nothing happens, and why says why.
func (p *Prompt) byWay(text string) (act *Act, why string) {
	act = &Act{Do: Decide, Way: p.Way, Text: text, Approval: p.approval}
	switch p.Way {
	case Edit:
		var object map[string]json.RawMessage
		err := json.Unmarshal([]byte(text), &object)
		if _, is := errors.AsType[*json.SyntaxError](err); is {
			return nil, "the arguments are not valid JSON: " + err.Error()
		}
		if object == nil {
			return nil, "the arguments must be a JSON object"
		}
		if text == oneLine(p.approval.Arguments) {
			return nil, "the arguments are unchanged; to approve them as they are, press Shift+Tab"
		}
	case Always:
		first, lasts, timed := strings.Cut(text, " ")
		var err error
		if act.Text = ""; timed {
			act.For, err = time.ParseDuration(strings.TrimSpace(lasts))
		}
		switch {
		case !yeses[strings.ToLower(first)] || err != nil || act.For < 0:
			return nil, "type y, or y and a duration, such as y 8h"
		case !p.previewed:
			return nil, "first read which past calls the rule would have allowed"
		}
	default:
		return act, ""
	}
	if !p.Read {
		return nil, "read the whole text first (PgDn)"
	}
	act.Approved = new(true)
	return act, ""
}
