package main

import (
	"context"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// lookout tells who watches an investigation which calls and questions wait for a
// person, and which providers are waited for. The store does not say so. The investigation does, but is asked only
// while there is a riddle: a reply has asked for calls that have neither begun,
// nor been answered, nor wait as far as is known; or a stage has ended that the
// investigation had not taken in, and it may have put a question; or a model call has
// failed, and when it is made again is not known yet.
type lookout struct {
	terminal.Source
	ask     func(context.Context) (workflows.Status, error)
	tell    chan terminal.Notice
	stirred chan struct{} // holds one: there are new calls

	mu      sync.Mutex
	open    map[string]bool // calls without an intent or a result, by client.CallName
	waiting map[string]bool // those that waited when the investigation was asked last
	ended   int             // runs of stages, as the store says
	taken   int             // those that the investigation had taken in when it was asked last
	failing map[string]bool // executions whose last model call failed, and that are not known to wait
}

const (
	lookSoon   = 200 * time.Millisecond // most calls have begun by then, and nobody is asked
	lookRarely = 5 * time.Second
)

func newLookout(src terminal.Source, t client.Handle) *lookout {
	return &lookout{
		Source: src, tell: make(chan terminal.Notice), stirred: make(chan struct{}, 1),
		open: map[string]bool{}, waiting: map[string]bool{}, failing: map[string]bool{},
		ask: func(ctx context.Context) (status workflows.Status, err error) {
			err = t.Ask(ctx, &status)
			return status, err
		},
	}
}

// Follow follows the source, and looks at what passes by.
func (l *lookout) Follow(ctx context.Context, investigation string, after int64, fn func(store.Update) error) error {
	looking, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { l.look(looking, investigation) })
	defer group.Wait()
	defer stop()
	return l.Source.Follow(ctx, investigation, after, func(u store.Update) error {
		l.note(u.Entries)
		l.noteStages(u.Stages)
		return fn(u)
	})
}

// note keeps track of the calls that have not begun.
func (l *lookout) note(entries []transcript.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range entries {
		delete(l.failing, e.Execution)
		switch e.Kind {
		case transcript.KindTry:
			if !e.Superseded {
				l.failing[e.Execution] = true
				l.stir()
			}
		case transcript.KindReply:
			l.noteReply(e)
		case transcript.KindCall, transcript.KindResult:
			delete(l.open, e.Execution+"/"+e.Call.ID)
		}
	}
}

func (l *lookout) noteReply(e transcript.Entry) {
	for _, call := range e.Calls {
		name := e.Execution + "/" + call.ID
		delete(l.waiting, name)
		delete(l.open, name)
		if !e.Superseded {
			l.open[name] = true
		}
	}
	l.stir()
}

// noteStages keeps track of the stages that have ended.
func (l *lookout) noteStages(stages []record.Stage) {
	ended := 0
	for _, s := range stages {
		if s.Status.Closed() {
			ended++
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if ended <= l.ended {
		return
	}
	l.ended = ended
	l.stir()
}

func (l *lookout) stir() {
	select {
	case l.stirred <- struct{}{}:
	default:
	}
}

// puzzled reports whether there is a riddle.
func (l *lookout) puzzled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended > l.taken || len(l.failing) > 0 {
		return true
	}
	for name := range l.open {
		if !l.waiting[name] {
			return true
		}
	}
	return false
}

// look asks as often as it has to, until ctx ends.
func (l *lookout) look(ctx context.Context, investigation string) {
	told := map[string]bool{}
	for pause := lookSoon; ; {
		var due <-chan time.Time // never, while there is no riddle
		if l.puzzled() {
			due = time.After(pause)
		}
		select {
		case <-ctx.Done():
			return
		case <-l.stirred:
			pause = lookSoon
		case <-due:
			pause = min(2*pause, lookRarely)
			if l.puzzled() {
				l.report(ctx, investigation, told)
			}
		}
	}
}

// report tells of what has come to wait. An investigation that does
// not answer is asked again.
func (l *lookout) report(ctx context.Context, investigation string, told map[string]bool) {
	status, err := l.ask(ctx)
	if err != nil {
		return
	}
	l.know(status)
	var lines []terminal.Notice
	for _, a := range status.Waiting {
		lines = append(lines, terminal.Notice{Text: waitingLine(investigation, a)})
	}
	for _, q := range status.Questions {
		lines = append(lines, terminal.Notice{Text: questionLine(investigation, q)})
	}
	for _, o := range status.Outages {
		if o.Next.After(time.Now()) { // else it is being asked
			lines = append(lines, terminal.Notice{Text: outageLine(o), Trouble: o.Execution, Next: o.Next, Tries: o.Tries})
		}
	}
	for _, line := range lines {
		if told[line.Text] {
			continue
		}
		told[line.Text] = true
		select {
		case l.tell <- line:
		case <-ctx.Done():
		}
	}
}

func (l *lookout) know(status workflows.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken = takenIn(status)
	for _, o := range status.Outages {
		if o.Next.After(time.Now()) {
			delete(l.failing, o.Execution)
		}
	}
	clear(l.waiting)
	for _, a := range status.Waiting {
		l.waiting[client.CallName(a)] = true
	}
}

// takenIn is how many runs of stages an investigation knows to have ended. When
// it takes in one that asks, the question is there, too.
func takenIn(status workflows.Status) int {
	ended := status.Hops
	for _, s := range status.Stages {
		if s.Status == agent.StatusRunning {
			ended--
		}
	}
	return ended
}
