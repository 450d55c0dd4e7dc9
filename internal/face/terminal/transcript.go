package terminal

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/inquest-dev/inquest/internal/record"
)

// view is the printed and the known state of an investigation.
type view struct {
	mu         sync.Mutex // the countdown runs in its own goroutine
	p          *printer
	verbose    bool
	live       bool
	rows       bool   // results have their numbers
	talk       bool   // a conversation: one agent, only messages in and out
	said       string // message that must not be repeated in a conversation
	record     record.Investigation
	stages     []record.Stage
	executions []record.Execution

	last    int64 // highest Seq printed
	stage   string
	lanes   map[string]*lane // by execution
	streams map[string]*stream
	tasks   map[string]bool      // executions whose next user message is their task
	calls   map[string]time.Time // when a call began
	several map[string]bool      // calls whose reply has several
	shared  map[string]bool      // executions whose last entry was shared
	printed map[string]bool      // stages, executions and notices that have been printed
	notices func(record.Waits) []Notice
	ask     func(record.Waits)
	trouble map[string]Notice // provider outage, by execution
}

func newView(opts Options) *view {
	return &view{
		p:       &printer{out: opts.Out, color: opts.Color, width: opts.Width},
		verbose: opts.Verbose,
		live:    opts.Width > 0,
		lanes:   map[string]*lane{},
		streams: map[string]*stream{},
		tasks:   map[string]bool{},
		calls:   map[string]time.Time{},
		several: map[string]bool{},
		shared:  map[string]bool{},
		printed: map[string]bool{},
		trouble: map[string]Notice{},
		notices: opts.Notices,
		ask:     opts.Ask,
	}
}

// take prints an update, except for the ends.
func (v *view) take(u record.Update) {
	if u.Record != nil {
		v.record, v.stages, v.executions = *u.Record, u.Stages, u.Executions
		v.known(u.Executions)
	}
	struck := map[string]int{}
	for _, e := range u.Entries {
		switch {
		case e.Seq <= v.last:
			struck[e.Execution]++
			if struck[e.Execution] == 1 {
				text := fmt.Sprintf("workflow reset: the agent repeats its work from iteration %d; ignore the lines above from that iteration on",
					e.Iteration)
				v.p.print(v.lane(e.Execution), noticeBlock, text)
			}
		case !e.Superseded:
			v.entry(e)
		}
		v.last = max(v.last, e.Seq)
	}
	if u.Waits != nil {
		v.waits(*u.Waits)
	}
	for _, e := range u.Executions {
		if e.Status.Closed() {
			delete(v.trouble, e.Name)
		}
	}
	if v.live && u.Live != nil {
		v.tails(u.Live)
	}
}

// waits prints everything that the investigation is waiting for and asks the user about it.
func (v *view) waits(w record.Waits) {
	waits := w
	if v.ask != nil {
		waits.Approvals, waits.Questions = nil, nil
	}
	if v.notices != nil {
		for _, n := range v.notices(waits) {
			if !v.printed[n.Text] {
				v.printed[n.Text] = true
				v.notice(n)
			}
		}
	}
	if v.ask != nil && w.Len() > len(w.Outages) {
		v.p.closeLine()
		v.p.clear()
		v.ask(w)
	}
}

// known adds lanes for the executions, so that their names are aligned.
func (v *view) known(executions []record.Execution) {
	for _, e := range executions {
		v.lane(e.Name)
	}
}

// lane returns the lane of an execution, and adds it if necessary.
func (v *view) lane(execution string) *lane {
	if l := v.lanes[execution]; l != nil {
		return l
	}
	name := execution
	if _, agent, ok := strings.Cut(execution, "/"); ok && v.talk { // a conversation has one agent and needs no stage
		name = agent
	}
	l := &lane{name: CleanLine(name), style: agentStyles[len(v.lanes)%len(agentStyles)]}
	v.lanes[execution] = l
	v.p.pad = max(v.p.pad, min(ansi.StringWidth(l.name), maxPad))
	return l
}

// leaf returns an execution's lane for a tree. A sub-agent is shown with the last part of its name, indented.
func (v *view) leaf(execution string) *lane {
	l, deep := *v.lane(execution), strings.Count(execution, "/")-1
	if deep > 0 {
		l.name = strings.Repeat("  ", deep) + l.name[strings.LastIndexByte(l.name, '/')+1:]
	}
	return &l
}

// enter prints the heading of a stage before its first line.
func (v *view) enter(execution string) {
	stage, _, _ := strings.Cut(execution, "/")
	if stage == v.stage || v.talk {
		return
	}
	v.leave(v.stage)
	v.stage = stage
	v.heading(CleanLine(stage))
}

const headingWidth = 72

func (v *view) heading(text string) {
	width := headingWidth
	if v.p.width > 0 {
		width = min(width, v.p.width)
	}
	rest := max(width-ansi.StringWidth(text)-len("── ")+len("──")-3, 2)
	v.p.full(bold, "\n── "+text+" "+strings.Repeat("─", rest))
}

// printEnds prints the ends of all stages and executions that are closed.
func (v *view) printEnds() {
	for _, s := range v.stages {
		if s.Status.Closed() && !v.printed[s.Name] {
			v.enter(s.Name + "/")
			v.leave(s.Name)
		}
	}
	for _, e := range v.executions {
		if e.Stage == v.stage { // otherwise its stage has ended, or will be entered again
			v.executionEnd(e, v.lane(e.Name))
		}
	}
}

// leave prints the ends of a stage and of its executions, sub-agents below their parent.
func (v *view) leave(stage string) {
	for _, e := range record.InTree(v.executions, func(e record.Execution) string { return e.Name }) {
		if e.Stage == stage {
			v.executionEnd(e, v.leaf(e.Name))
		}
	}
	for _, s := range v.stages {
		if s.Name == stage && s.Status.Closed() && !v.printed[s.Name] {
			v.printed[s.Name] = true
			v.stageEnd(s)
		}
	}
}
