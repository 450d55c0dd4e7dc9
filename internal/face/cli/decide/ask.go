package decide

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/live"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// Asker asks the user, line by line, whatever an investigation needs. While a question is open, nothing else is printed.
type Asker struct {
	ctx   context.Context
	c     *base.CLI
	id    string
	lines chan string     // lines typed while a question is open; others are dropped
	asked map[string]bool // keyed by what was shown
	stale bool            // the last question was closed before the answer, so the user may still be typing
	size  func() (width, height int)
}

// NewAsker returns an asker for an investigation. It reads the answers from standard input.
func NewAsker(ctx context.Context, c *base.CLI, id string) *Asker {
	a := &Asker{ctx: ctx, c: c, id: id, lines: make(chan string), asked: map[string]bool{}}
	a.size = func() (width, height int) {
		width, height, err := term.GetSize(int(c.Out.(*os.File).Fd()))
		if err != nil {
			return 80, 24
		}
		return width, height
	}
	go func() {
		typed := bufio.NewScanner(c.In)
		for typed.Scan() {
			select {
			case a.lines <- typed.Text():
			default: // no question is open
			}
		}
	}()
	return a
}

// Ask asks about pending items that were not asked about before.
func (a *Asker) Ask(w record.Waits) {
	for _, call := range w.Approvals {
		if key := call.Name() + call.Digest; !a.asked[key] {
			a.asked[key] = true
			lacking := Lacking(a.ctx, a.c, &call)
			a.put(live.DecisionPrompt(call, lacking), WaitingNotice(a.id, call))
		}
	}
	for _, q := range w.Questions {
		if !a.asked[q.ID] {
			a.asked[q.ID] = true
			a.put(live.QuestionPrompt(q), questionNotice(a.id, q))
		}
	}
}

// stillEvery is how often to check that an answer is still needed.
const stillEvery = 2 * time.Second

// put asks about one item. later is printed if the user does not answer now.
func (a *Asker) put(p *live.Prompt, later terminal.Notice) {
	width, height := a.size()
	fmt.Fprintln(a.c.Out)
	if a.stale {
		a.stale = false
		if _, ok := a.read(p, "-- another item is pending; press Enter to see it -- "); !ok {
			return
		}
	}
	lines := terminal.Wrap(p.TextAt(time.Now()), width)
	for page := max(height-3, 1); len(lines) > page; lines = lines[page:] {
		fmt.Fprintln(a.c.Out, strings.Join(lines[:page], "\n"))
		if _, ok := a.read(p, fmt.Sprintf("-- press Enter for %s -- ", terminal.Count(len(lines)-page, "more line"))); !ok {
			return
		}
	}
	fmt.Fprintln(a.c.Out, strings.Join(lines, "\n"))
	p.Read = true
	for {
		text, ok := a.read(p, p.Ask)
		if !ok {
			return
		}
		act, why := p.Act(strings.TrimSpace(text))
		switch {
		case act != nil:
			line, err := CarryOut(a.ctx, a.c, a.id, *act)
			if err != nil {
				line = err.Error()
			}
			_ = a.c.Print(terminal.CleanLine(line))
			return
		case strings.TrimSpace(text) == "":
			fmt.Fprintf(a.c.Out, "%s\n%s\n", why, later.Lines("", width))
			return
		}
		fmt.Fprintln(a.c.Out, why)
	}
}

// read reads a line typed from now on. It returns false if the answer is no longer needed.
func (a *Asker) read(p *live.Prompt, ask string) (text string, ok bool) {
	terminal.DropTyped(a.c.In)
	fmt.Fprint(a.c.Out, ask)
	still := time.NewTicker(stillEvery)
	defer still.Stop()
	for {
		select {
		case text = <-a.lines:
			return text, true
		case <-a.ctx.Done():
			return "", false
		case <-still.C:
			if !a.waits(p) {
				fmt.Fprintln(a.c.Out, "\nno longer pending")
				a.stale = true
				return "", false
			}
		}
	}
}

// waits asks the store whether the answer is still needed. If the store does not answer, waits assumes that it is.
func (a *Asker) waits(p *live.Prompt) bool {
	waiting, err := a.c.Client().Waiting(a.ctx, a.id)
	if err != nil {
		return !errors.Is(err, system.ErrEnded)
	}
	for _, w := range waiting {
		if w.Investigation == a.id && p.WaitsIn(w.Waits) {
			return true
		}
	}
	return false
}
