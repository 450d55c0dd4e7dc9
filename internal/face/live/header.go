package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
)

// title describes the investigation and its status. It adds the ID if there is room; the help always shows it.
func (m *Model) title() string {
	r := m.record
	words := []string{strings.ReplaceAll(string(cmp.Or(r.Status, "starting")), "_", " ")}
	if r.EndReason.Cut() {
		words[0] += ", cut short"
	}
	if r.EndReason == agent.EndPartial {
		words[0] += ", partial"
	}
	if !r.StartedAt.IsZero() {
		words = append(words, short(cmp.Or(r.EndedAt, &m.now).Sub(r.StartedAt)))
	}
	end := terminal.Fit(strings.Join(words, " · "), m.width)
	room := m.width - ansi.StringWidth(end) - 1
	name, parts := "", []string{m.about, r.Chain, m.id}
	if m.about == "" {
		parts = []string{m.id, r.Chain}
	}
	for _, part := range parts {
		part = terminal.CleanLine(part)
		longer := strings.TrimPrefix(name+" · "+part, " · ")
		if part != "" && (name == "" || ansi.StringWidth(longer) <= room) {
			name = longer
		}
	}
	style := statusStyle(r.Status)
	if r.EndReason == agent.EndPartial && r.Status == agent.StatusCompleted {
		style = alert
	}
	return bold.Render(cell(name, room)) + " " + style.Render(end)
}

// used describes the investigation's usage so far. An empty string means nothing.
func (m *Model) used() string {
	var words []string
	if n := m.record.Usage.Tokens(); n > 0 {
		words = append(words, tokens(n)+" tokens")
	}
	if m.record.Usage.CostUSD > 0 {
		words = append(words, terminal.Cost(m.record.Usage))
	}
	return strings.Join(words, " · ")
}

func statusStyle(status agent.Status) lipgloss.Style {
	switch {
	case status == agent.StatusRunning || status == "":
		return plain
	case status == agent.StatusCompleted:
		return green
	case status.Closed():
		return red
	}
	return alert
}

// minStages is the least number of columns for the stages beside the usage.
const minStages = 20

// stageLine shows the past and future stages, with the usage at the end of the line.
func (m *Model) stageLine() string {
	used := m.used()
	room := m.width - ansi.StringWidth(used) - 2
	if used == "" || room < minStages {
		used, room = "", m.width
	}
	all := m.way()
	words := make([]string, len(all))
	now := len(all) - 1 // the first stage that has not ended
	for n, s := range slices.Backward(all) {
		if !s.Status.Closed() {
			now = n
		}
		words[n] = m.stageWord(s)
	}
	first, end, before, after := 0, len(words), "", ""
	for ansi.StringWidth(before+strings.Join(words[first:end], stageGap)+after) > room && end-first > 1 {
		if first < now {
			first, before = first+1, "…"+stageGap
		} else {
			end, after = end-1, fmt.Sprintf("%s… %d more", stageGap, len(words)-end+1)
		}
	}
	line, width := faint.Render(before), ansi.StringWidth(before)
	for n := first; n < end; n++ {
		word, style := words[n], faint
		if n > first {
			word = stageGap + word
		}
		word = terminal.Fit(word, room-width)
		if m.stageWaits(all[n].Name) {
			style = alert
		}
		line, width = line+style.Render(word), width+ansi.StringWidth(word)
	}
	line, width = line+faint.Render(after), width+ansi.StringWidth(after)
	if used != "" {
		line += strings.Repeat(" ", max(m.width-width-ansi.StringWidth(used), 0)) + faint.Render(used)
	}
	return line
}

const stageGap = "  " // between two stages

// stageWord returns a stage with a mark for its status and its duration.
func (m *Model) stageWord(s record.Stage) string {
	mark := "●"
	switch {
	case m.stageWaits(s.Name):
		mark = "!"
	case s.Status == agent.StatusCompleted:
		mark = "✓"
	case s.Status.Closed():
		mark = "✗"
	case s.Status == agent.StatusPending:
		mark = "○"
	}
	word := mark + " " + terminal.CleanLine(s.Name)
	if end := cmp.Or(s.EndedAt, &m.now); s.Status != agent.StatusPending && !s.StartedAt.IsZero() {
		word += " " + short(end.Sub(s.StartedAt))
	}
	return word
}

// stageWaits reports whether a call or a question in a stage needs a person.
func (k *known) stageWaits(name string) bool {
	asks := func(a record.Approval) bool {
		stage, _, _ := strings.Cut(a.Execution, "/")
		return stage == name
	}
	return slices.ContainsFunc(k.waits.Approvals, asks) ||
		slices.ContainsFunc(k.waits.Questions, func(q record.Question) bool { return q.Stage == name })
}

// way returns the past and future stages. A running stage may have no record yet, only its agents have.
func (m *Model) way() []record.Stage {
	stages := slices.Clone(m.stages)
	add := func(s record.Stage) {
		if !slices.ContainsFunc(stages, func(other record.Stage) bool { return other.Name == s.Name }) {
			stages = append(stages, s)
		}
	}
	for _, l := range m.lanes {
		if stage := l.record.Stage; stage != "" {
			add(record.Stage{Name: stage, Status: agent.StatusRunning, StartedAt: l.record.StartedAt})
		}
	}
	for _, name := range m.record.Envelope.Pending {
		add(record.Stage{Name: name, Status: agent.StatusPending})
	}
	return stages
}
