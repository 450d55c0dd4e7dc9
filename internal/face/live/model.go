// Package live shows a running investigation on a terminal: a line for each agent, the text of one of them, what needs a person's
// attention, and the keys for steering. Model is a function of updates, keys, the terminal's size and a clock. View runs it on a
// terminal.
package live

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Model holds the known state of an investigation and of the screen.
type Model struct {
	id            string
	width, height int
	known

	about string // one-line description of the investigation; empty means not known yet
	last  int64  // highest Seq seen so far
	lanes []*lane
	lost  map[string]time.Time // lost connections, and since when

	focus  int  // lane whose text is shown
	chosen bool // the user chose the focus; otherwise it follows the work
	open   bool // show thinking, calls and results in full
	back   int  // lines that the text is scrolled back
	rows   int  // lines of the text last shown, or that there was room for
	page   page
	prompt *typing
	said   string // response to the user's last action
	saidAt time.Time
}

// known is the state of an investigation in the records at a time.
type known struct {
	now    time.Time
	record record.Investigation
	stages []record.Stage
	waits  record.Waits
}

// page is the content of the screen below the agents.
type page int

const (
	textPage page = iota
	reportPage
	helpPage
)

// New returns the model of an investigation before any update.
func New(id string) *Model {
	return &Model{id: id, width: 80, height: 24, lost: map[string]time.Time{}}
}

// Resize sets the size of the terminal. A new width wraps the text of a prompt differently, so the user has to read it from the start.
func (m *Model) Resize(width, height int) {
	if m.prompt != nil && width != m.width {
		m.prompt.seen, m.prompt.Read, m.back = 0, false, 0
	}
	m.width, m.height = width, height
}

// Tick sets the current time.
func (m *Model) Tick(now time.Time) { m.now = now }

// Lost reports that a connection was lost or, with a zero time, that it is back.
func (m *Model) Lost(to string, since time.Time) {
	delete(m.lost, to)
	if !since.IsZero() {
		m.lost[to] = since
		return
	}
	m.Say("connection to " + to + " is restored")
}

// Say shows a message to the user for a while.
func (m *Model) Say(text string) { m.said, m.saidAt = text, m.now }

// Record returns the last known record of the investigation.
func (m *Model) Record() record.Investigation { return m.record }

// Take applies an update.
func (m *Model) Take(u record.Update) {
	if u.Record != nil {
		m.record, m.about = *u.Record, cmp.Or(u.About, m.about)
		m.stages = slices.Clone(u.Stages)
		slices.SortStableFunc(m.stages, func(a, b record.Stage) int { return a.Envelope.Order - b.Envelope.Order })
	}
	for _, e := range u.Executions {
		m.lane(e.Name).record = e
	}
	for _, e := range u.Entries {
		switch l := m.lane(e.Execution); {
		case e.Execution == "": // from the investigation itself
			m.Say(e.Text)
		case e.Seq <= m.last: // Temporal was reset
			l.strike(e.Seq)
		case !e.Superseded:
			l.entry(e)
		}
		m.last = max(m.last, e.Seq)
	}
	if u.Live != nil {
		for _, l := range m.lanes {
			l.live = transcript.Live{}
		}
		for _, tail := range u.Live {
			m.lane(tail.Execution).live = tail
		}
	}
	if u.Waits != nil {
		m.waits = *u.Waits
		m.recheckPrompt()
	}
	m.follow()
}

// lane returns the lane of an execution, and adds it if necessary. Lanes of a stage are sorted by name, sub-agents below their parent.
// The investigation itself has no lane on the screen.
func (m *Model) lane(execution string) *lane {
	for _, l := range m.lanes {
		if l.name == execution {
			return l
		}
	}
	l := &lane{name: execution}
	if execution == "" {
		return l
	}
	path := strings.Split(execution, "/")
	at := slices.IndexFunc(m.lanes, func(other *lane) bool {
		others := strings.Split(other.name, "/")
		return others[0] == path[0] && slices.Compare(others, path) > 0
	})
	if at < 0 {
		at = len(m.lanes)
	}
	m.lanes = slices.Insert(m.lanes, at, l)
	if m.chosen && at <= m.focus && len(m.lanes) > 1 {
		m.focus++
	}
	return l
}

// follow moves the focus to a running agent when the shown one has ended, unless the user chose it.
func (m *Model) follow() {
	if m.chosen || len(m.lanes) == 0 || !m.finished(m.lanes[m.focus]) {
		return
	}
	for n, l := range m.lanes {
		if !m.finished(l) {
			m.focus, m.back = n, 0
			return
		}
	}
}

func (m *Model) focused() *lane {
	if len(m.lanes) == 0 {
		return nil
	}
	return m.lanes[m.focus]
}

// paused reports whether a person has paused the investigation. Approvals and questions do not expire meanwhile.
func (k *known) paused() bool {
	return k.record.Status == agent.StatusPaused ||
		slices.ContainsFunc(k.waits.Approvals, func(a record.Approval) bool { return a.Expires.IsZero() }) ||
		slices.ContainsFunc(k.waits.Questions, func(q record.Question) bool { return q.Expires.IsZero() })
}

// approvalOf returns an agent's call that waits for approval.
func (k *known) approvalOf(execution string) (record.Approval, bool) {
	n := slices.IndexFunc(k.waits.Approvals, func(a record.Approval) bool { return a.Execution == execution })
	if n < 0 {
		return record.Approval{}, false
	}
	return k.waits.Approvals[n], true
}

// outageOf returns the provider outage that an agent is waiting for.
func (k *known) outageOf(execution string) (record.Outage, bool) {
	n := slices.IndexFunc(k.waits.Outages, func(o record.Outage) bool {
		return o.Execution == execution || slices.Contains(o.Others, execution)
	})
	if n < 0 {
		return record.Outage{}, false
	}
	return k.waits.Outages[n], true
}

// report returns the investigation's report or, until there is one, the result of the last stage that has one.
func (m *Model) report() string {
	if m.record.Report != "" {
		return report.Text(m.record)
	}
	for _, s := range slices.Backward(m.stages) {
		if s.Result == "" {
			continue
		}
		for _, b := range slices.Backward(m.lane(s.Result).blocks) {
			if b.kind == replyBlock {
				return "(interim result of stage " + s.Name + ")\n\n" + b.text
			}
		}
	}
	return ""
}

// agentOf returns the agent's name in an execution.
func agentOf(execution string) string {
	_, name, ok := strings.Cut(execution, "/")
	if !ok {
		return execution
	}
	return name
}
