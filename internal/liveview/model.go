// Package liveview shows an investigation on a terminal while it runs: a line for each
// agent, the text of one of them, what waits for people, and the keys to steer it.
//
// Model is a function of updates, keys, the terminal's size and a clock. View runs it on a
// terminal.
package liveview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	md "github.com/inquest-dev/inquest/internal/markdown"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Model holds what is known of an investigation, and what of that is on the screen.
type Model struct {
	id            string
	width, height int
	now           time.Time

	record record.Investigation
	about  string // what the investigation is about, in words; "" = not known yet
	stages []record.Stage
	waits  record.Waits
	last   int64 // the highest Seq that was taken in
	lanes  []*lane
	lost   map[string]time.Time // connections that are lost, and since when

	focus  int  // the lane whose text is shown
	chosen bool // a person chose it; else it follows the work
	open   bool // thinking, calls and results are shown whole
	back   int  // lines that the text is scrolled back
	rows   int  // lines of the text that were last on the screen, or had room there
	page   page
	prompt *typing
	said   string // the answer to what a person did last
	saidAt time.Time
}

// page is what stands below the agents.
type page int

const (
	textPage page = iota
	reportPage
	helpPage
)

// New returns the model of an investigation about which nothing is known yet.
func New(id string) *Model {
	return &Model{id: id, width: 80, height: 24, lost: map[string]time.Time{}}
}

// Resize says how large the terminal is. The text of a prompt then breaks into other lines, and is read from the
// beginning.
func (m *Model) Resize(width, height int) {
	if m.prompt != nil && width != m.width {
		m.prompt.seen, m.prompt.Read, m.back = 0, false, 0
	}
	m.width, m.height = width, height
}

// Tick says what time it is.
func (m *Model) Tick(now time.Time) { m.now = now }

// Lost says that a connection is lost, or with zero that it is back.
func (m *Model) Lost(to string, since time.Time) {
	delete(m.lost, to)
	if !since.IsZero() {
		m.lost[to] = since
		return
	}
	m.Say("connection to " + to + " is back")
}

// Say shows a text to the person at the keys, for a while.
func (m *Model) Say(text string) { m.said, m.saidAt = text, m.now }

// Record is the investigation as it was last known.
func (m *Model) Record() record.Investigation { return m.record }

// Take takes in what has changed.
func (m *Model) Take(u store.Update) {
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
		case e.Execution == "": // the investigation itself says it
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

// lane returns an execution's lane: those of a stage stand together by name, sub-agents below
// the agent that has dispatched them. What the investigation says itself has none on the screen.
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

// follow moves the focus to an agent that works when the one that was shown has ended,
// unless a person has chosen it.
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

// paused: a person has paused it. What waits for people meanwhile has no end.
func (m *Model) paused() bool {
	return m.record.Status == agent.StatusPaused ||
		slices.ContainsFunc(m.waits.Approvals, func(a record.Approval) bool { return a.Expires.IsZero() }) ||
		slices.ContainsFunc(m.waits.Questions, func(q record.Question) bool { return q.Expires.IsZero() })
}

// approvalOf is the call of an agent that waits for a person.
func (m *Model) approvalOf(execution string) (record.Approval, bool) {
	n := slices.IndexFunc(m.waits.Approvals, func(a record.Approval) bool { return a.Execution == execution })
	if n < 0 {
		return record.Approval{}, false
	}
	return m.waits.Approvals[n], true
}

// outageOf is the provider that an agent waits for.
func (m *Model) outageOf(execution string) (record.Outage, bool) {
	n := slices.IndexFunc(m.waits.Outages, func(o record.Outage) bool {
		return o.Execution == execution || slices.Contains(o.Others, execution)
	})
	if n < 0 {
		return record.Outage{}, false
	}
	return m.waits.Outages[n], true
}

// report is the investigation's, or until it has one what the last stage with a result says.
func (m *Model) report() string {
	if m.record.Report != "" {
		return md.Readable(m.record.Report)
	}
	for _, s := range slices.Backward(m.stages) {
		if s.Result == "" {
			continue
		}
		for _, b := range slices.Backward(m.lane(s.Result).blocks) {
			if b.kind == replyBlock {
				return "(so far, of stage " + s.Name + ")\n\n" + b.text
			}
		}
	}
	return ""
}

// agentOf is an execution's agent.
func agentOf(execution string) string {
	_, name, ok := strings.Cut(execution, "/")
	if !ok {
		return execution
	}
	return name
}
