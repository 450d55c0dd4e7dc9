package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// lookout tells who watches an investigation which calls and questions wait for a person. The
// store does not say so. The investigation does, but is asked only while a reply
// has asked for calls of which nothing is known yet: neither begun, nor answered,
// nor waiting.
type lookout struct {
	terminal.Source
	ask     func(context.Context) (workflows.Status, error)
	tell    chan string
	stirred chan struct{} // holds one: there are new calls

	mu      sync.Mutex
	open    map[string]bool // calls without an intent or a result, by callName
	waiting map[string]bool // those that waited when the investigation was asked last
	ended   int             // stages
	looks   int             // how often it has to be asked yet: a stage has ended, and may have put a question
}

const (
	lookSoon   = 200 * time.Millisecond // most calls have begun by then, and nobody is asked
	lookRarely = 5 * time.Second
)

func newLookout(src terminal.Source, t target) *lookout {
	return &lookout{
		Source: src, tell: make(chan string), stirred: make(chan struct{}, 1),
		open: map[string]bool{}, waiting: map[string]bool{},
		ask: func(ctx context.Context) (status workflows.Status, err error) {
			err = t.query(ctx, workflows.QueryStatus, &status)
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
		switch e.Kind {
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

// looksAfter is how often an investigation is asked after the end of a stage.
const looksAfter = 3

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
	l.ended, l.looks = ended, looksAfter
	l.stir()
}

func (l *lookout) stir() {
	select {
	case l.stirred <- struct{}{}:
	default:
	}
}

// puzzled reports whether there are calls of which nothing is known, or may be questions.
func (l *lookout) puzzled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.looks > 0 {
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

// report tells of the calls that have come to wait. An investigation that does
// not answer is asked again.
func (l *lookout) report(ctx context.Context, investigation string, told map[string]bool) {
	status, err := l.ask(ctx)
	if err != nil {
		return
	}
	l.know(status.Waiting)
	var lines []string
	for _, a := range status.Waiting {
		lines = append(lines, waitingLine(investigation, a))
	}
	for _, q := range status.Questions {
		lines = append(lines, questionLine(investigation, q))
	}
	for _, line := range lines {
		if told[line] {
			continue
		}
		told[line] = true
		select {
		case l.tell <- line:
		case <-ctx.Done():
		}
	}
}

func (l *lookout) know(all []workflows.Approval) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.waiting)
	l.looks = max(l.looks-1, 0)
	for _, a := range all {
		l.waiting[callName(a)] = true
	}
}

// waitingLine says that a call waits for a person, and how to decide it.
func waitingLine(id string, a workflows.Approval) string {
	return terminal.CleanLine(fmt.Sprintf("%s asks to call %s %s (risk %s); it is denied at %s. Decide: starter decide %s %s --approve (or --deny --reason …)",
		a.Execution, a.Tool, shorten(a.Arguments), a.Risk, a.Expires.Local().Format(time.TimeOnly), shellWord(id), shellWord(callName(a))))
}

// shellWord is a text as one word of a shell's command line.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
