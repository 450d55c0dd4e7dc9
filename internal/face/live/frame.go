package live

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/spinner"
	"github.com/charmbracelet/x/ansi"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/record"
)

const (
	minWidth, minHeight = 40, 14
	saidFor             = 10 * time.Second
	spinEvery           = 250 * time.Millisecond
	maxNotices          = 4
)

// Frame returns the content of the screen: as many lines as the terminal has, none wider. Lines that were on the screen count as read.
func (m *Model) Frame() string {
	if m.width < minWidth || m.height < minHeight {
		return terminal.Fit("The terminal is too small. Press q to quit.", m.width)
	}
	top := []string{m.title(), m.stageLine()}
	top = append(top, m.table()...)
	if m.prompt == nil { // the text of a prompt takes the whole screen
		top = append(top, m.notices()...)
	}
	foot := m.foot()
	top = top[:min(len(top), m.height-len(foot)-1)] // keep the keys visible
	room := m.height - len(top) - len(foot)
	lines := slices.Concat(top, m.body(room), foot)
	for n, line := range lines { // a last guard, if a part above is wider than the screen
		if ansi.StringWidth(line) > m.width {
			lines[n] = ansi.Truncate(line, m.width, "")
		}
	}
	return strings.Join(lines, "\n")
}

// columns holds the column widths of the agents table, which depend on the terminal's width.
type columns struct{ name, state, now, called, cost int }

const (
	markColumn   = 4 // for the focus and the spinner
	tokensColumn = 6
	timeColumn   = 6
)

func (m *Model) columns() columns {
	c := columns{name: len("AGENT"), state: 10}
	priced := false
	for _, l := range m.lanes {
		c.name = max(c.name, ansi.StringWidth(m.nameOf(l)))
		priced = priced || l.record.Usage.CostUSD > 0
	}
	c.name = min(c.name, m.width/4)
	c.called = min(12+max(m.width-80, 0)/4, 28)
	if priced {
		c.cost = len("$0.0001")
	}
	c.now = m.width - markColumn - c.name - c.state - c.called - c.cost - tokensColumn - timeColumn - len("|||||")
	if c.cost > 0 {
		c.now--
	}
	if c.now < 10 {
		c.now, c.called = c.now+c.called, 0
	}
	return c
}

// nameOf returns an agent's name, including its stage if another stage has an agent with that name. Sub-agents are indented below
// their parent.
func (m *Model) nameOf(l *lane) string {
	name := agentOf(l.name)
	if by := strings.Count(name, "/"); by > 0 {
		return strings.Repeat("  ", by) + terminal.CleanLine(name[strings.LastIndexByte(name, '/')+1:])
	}
	if slices.ContainsFunc(m.lanes, func(other *lane) bool { return other != l && agentOf(other.name) == name }) {
		name = l.name
	}
	return terminal.CleanLine(name)
}

// table returns one line per agent. If there are too many, it returns those around the focus.
func (m *Model) table() []string {
	c := m.columns()
	row := func(mark, name, state, now, called, count, cost, took string) string {
		cells := []string{mark + cell(name, c.name), cell(state, c.state), cell(now, c.now)}
		if c.called > 0 {
			cells = append(cells, cell(called, c.called))
		}
		cells = append(cells, right(count, tokensColumn))
		if c.cost > 0 {
			cells = append(cells, right(cost, c.cost))
		}
		return strings.Join(append(cells, right(took, timeColumn)), " ")
	}
	lines := []string{faint.Render(row("    ", "AGENT", "STATE", "NOW", "LAST CALL", "TOKENS", "COST", "TIME"))}
	room := max(m.height/3, 3)
	if m.prompt != nil {
		room = 3
	}
	first := min(max(m.focus-room/2, 0), max(len(m.lanes)-room, 0))
	for n, l := range m.lanes[first:min(first+room, len(m.lanes))] {
		state, now := m.doing(l, c.now)
		if l.forced && !l.record.Status.Closed() {
			state = "concluding"
		}
		if state == "writing" || state == "thinking" {
			now = fitEnd(now, c.now)
		}
		mark, style := "  ", plain
		if first+n == m.focus {
			mark, style = "> ", chosen
		}
		switch {
		case l.record.Status.Closed() && l.record.Status != agent.StatusCompleted:
			mark, style = mark+"✗ ", red
		case m.finished(l):
			mark += "✓ "
		case state == "needs you" || state == "waiting":
			mark, style = mark+"! ", alert
		case state == "paused":
			mark += "‖ "
		default:
			mark += m.spin() + " "
		}
		lines = append(lines, style.Render(row(mark, m.nameOf(l), state, now, toolIn(l.called, c.called), tokens(l.record.Usage.Tokens()),
			terminal.Cost(l.record.Usage), m.elapsed(l))))
	}
	return lines
}

// toolIn returns a tool's name for a column, without its server if that is too long.
func toolIn(name string, width int) string {
	if ansi.StringWidth(name) > width {
		name = name[strings.LastIndexByte(name, '.')+1:]
	}
	return name
}

// spin returns the current frame of the spinner.
func (m *Model) spin() string {
	frames := spinner.MiniDot.Frames
	return frames[int(m.now.UnixMilli()/spinEvery.Milliseconds())%len(frames)]
}

// notices returns at most maxNotices lines: lost connections, approvals, questions, outages, and whether it is paused.
func (m *Model) notices() (lines []string) {
	add := func(text string) { lines = append(lines, alert.Render(terminal.Fit(text, m.width))) }
	for _, to := range slices.Sorted(maps.Keys(m.lost)) {
		since := m.lost[to]
		add(fmt.Sprintf("! connection to %s lost; retrying since %s (%s)", to, record.Clock(since), short(m.now.Sub(since))))
	}
	for _, a := range m.waits.Approvals {
		const how = " · a: decide"
		asks := terminal.CleanLine(fmt.Sprintf("! %s asks to call %s %s", agentOf(a.Execution), reveal.Name(a.Tool), reveal.JSON(a.Arguments)))
		add(ansi.Truncate(asks, m.width-len(how)+1, "…") + how) // a hard cut, because JSON has no words
	}
	for _, q := range m.waits.Questions {
		const how = " · a: answer"
		add(terminal.Fit(terminal.CleanLine("? "+q.Stage+" asks: "+reveal.Text(q.Question)), m.width-len(how)+1) + how)
	}
	for _, o := range m.waits.Outages {
		text := "! " + terminal.CleanLine(o.Why())
		if !o.Starting() {
			text += fmt.Sprintf(", %s, next %s", terminal.Count(o.Tries, "failed attempt"), m.in(o.Next))
		}
		text += ", gives up " + m.in(o.Until)
		if o.Fallback != "" {
			text += ", then falls back to " + terminal.CleanLine(o.Fallback)
		}
		if others := len(o.Others); others > 0 {
			text += " (" + terminal.Count(others, "more agent") + " waiting)"
		}
		add(text)
	}
	if m.paused() {
		add("‖ paused: press p to resume")
	}
	if len(lines) > maxNotices {
		more := len(lines) - maxNotices + 1
		lines = append(lines[:maxNotices-1], alert.Render(terminal.Fit(fmt.Sprintf("! %d more waiting", more), m.width)))
	}
	return lines
}

// body returns the part of the screen below the agents: a heading and room-1 lines.
func (m *Model) body(room int) []string {
	name, lines := m.content(room)
	room--
	m.rows = room
	hidden := 0
	if m.page == textPage && m.prompt == nil { // the end of a text matters most
		m.back = min(m.back, max(len(lines)-room, 0))
		end := len(lines) - m.back
		lines, hidden = lines[max(end-room, 0):end], m.back
	} else {
		m.back = min(m.back, max(len(lines)-room, 0))
		rest := lines[m.back:]
		lines = rest[:min(len(rest), room)]
		hidden = len(rest) - len(lines)
		if p := m.prompt; p != nil {
			p.seen = max(p.seen, m.back+len(lines))
			p.Read = p.Read || len(lines) > 0 && hidden == 0
		}
	}
	if hidden > 0 {
		name += fmt.Sprintf(" · %s below (PgDn)", terminal.Count(hidden, "line"))
	}
	name = terminal.Fit(name, m.width-len("── ")-1)
	rule := "── " + name + " " + strings.Repeat("─", max(m.width-ansi.StringWidth(name)-4, 0))
	out := append([]string{faint.Render(rule)}, lines...)
	for len(out) < room+1 {
		out = append(out, "")
	}
	return out
}

// content returns the heading and enough lines for the body.
func (m *Model) content(room int) (name string, lines []string) {
	switch l := m.focused(); {
	case m.prompt != nil:
		return m.prompt.title, terminal.Wrap(m.prompt.TextAt(m.now), m.width)
	case m.page == helpPage:
		return "help", m.help()
	case m.page == reportPage && m.report() == "":
		return "report", []string{"No report yet."}
	case m.page == reportPage:
		return "report", markdown(terminal.Clean(m.report()), m.width)
	case l == nil:
		return "waiting for the first agent", nil
	default:
		name := terminal.CleanLine(l.name)
		if l.record.Model != "" {
			name += " · " + terminal.CleanLine(l.record.Model)
		}
		if l.step > 0 {
			name += fmt.Sprintf(" · iteration %d", l.step)
		}
		return name, l.text(m.width, room+m.back, m.open)
	}
}

// foot returns the last lines: a message, if any, and below it the prompt's input line and hint, or else the keys.
func (m *Model) foot() (lines []string) {
	if m.prompt != nil && m.prompt.refused != "" {
		const most = 3
		why := terminal.Wrap(m.prompt.refused, m.width)
		for _, line := range why[:min(len(why), most)] {
			lines = append(lines, yellow.Render(line))
		}
	} else if m.said != "" && m.now.Sub(m.saidAt) < saidFor {
		lines = append(lines, yellow.Render(terminal.Fit(terminal.CleanLine(m.said), m.width)))
	}
	if m.prompt != nil {
		hint := m.prompt.hint
		if !m.accepting() {
			hint = "Read the text first. You can type in a moment."
		}
		return append(lines, m.prompt.line(m.width), faint.Render(terminal.Fit(hint, m.width)))
	}
	line := ""
	for _, k := range keys {
		longer := strings.TrimPrefix(line+" · "+k.key+" "+k.short, " · ")
		if (k.when == nil || k.when(m)) && ansi.StringWidth(longer) <= m.width {
			line = longer
		}
	}
	return append(lines, faint.Render(line))
}
