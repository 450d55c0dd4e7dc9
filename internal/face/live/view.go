package live

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/inquest-dev/inquest/internal/record"
)

// redrawEvery limits how often updates redraw the screen.
const redrawEvery = 100 * time.Millisecond

// ErrLeft means that the user has left. The investigation goes on.
var ErrLeft = errors.New("left")

// Options configures a View and its callbacks.
type Options struct {
	ID      string
	In      io.Reader
	Out     io.Writer
	Environ []string
	// Do carries out a user's request and returns a message about the result. The error says why it was not done.
	Do func(context.Context, Act) (string, error)
	// Whole loads all of a call's arguments, or says why it cannot.
	Whole func(context.Context, *record.Approval) (lacking string)
	// Preview describes which past calls a rule based on a call would have allowed.
	Preview func(context.Context, record.Approval) (string, error)
}

// View runs a Model on a terminal. It takes over the screen with the first update.
type View struct {
	opts   Options
	screen *screen
	began  chan struct{}
	begin  sync.Once
	ended  chan struct{}

	mu      sync.Mutex
	program *tea.Program // nil until it has started
	news    []func(*Model)
	due     *time.Timer
}

// NewView returns a view. Run shows it.
func NewView(opts Options) *View {
	return &View{opts: opts, screen: &screen{model: New(opts.ID)}, began: make(chan struct{}), ended: make(chan struct{})}
}

// Take applies an update.
func (v *View) Take(u record.Update) { v.enqueue(func(m *Model) { m.Take(u) }) }

// Lost reports that a connection was lost or, with a zero time, that it is back.
func (v *View) Lost(to string, since time.Time) { v.enqueue(func(m *Model) { m.Lost(to, since) }) }

// Say shows a message that would garble the screen if it were printed. It returns false while the view does not own the screen.
func (v *View) Say(text string) bool {
	v.mu.Lock()
	shown := v.program != nil
	v.mu.Unlock()
	if shown {
		v.enqueue(func(m *Model) { m.Say(text) })
	}
	return shown
}

// enqueue queues a change of the model, to be applied together with others of the moment.
func (v *View) enqueue(news func(*Model)) {
	v.begin.Do(func() { close(v.began) })
	v.mu.Lock()
	defer v.mu.Unlock()
	v.news = append(v.news, news)
	if v.due == nil {
		v.due = time.AfterFunc(redrawEvery, v.flush)
	}
}

func (v *View) flush() {
	v.mu.Lock()
	news, program := v.news, v.program
	v.due = nil
	if program != nil {
		v.news = nil
	}
	v.mu.Unlock()
	if program != nil {
		program.Send(newsMsg(news))
	}
}

// End gives the terminal back.
func (v *View) End() { close(v.ended) }

// Run shows the view until End is called or the user leaves, which is ErrLeft. It returns the last known record of the investigation.
func (v *View) Run(ctx context.Context) (record.Investigation, error) {
	select {
	case <-v.began:
	case <-v.ended:
		return record.Investigation{}, nil
	case <-ctx.Done():
		return record.Investigation{}, ctx.Err()
	}
	v.screen.do = func(act Act) (string, error) { return v.opts.Do(ctx, act) }
	v.screen.preview = func(a record.Approval) (string, error) { return v.opts.Preview(ctx, a) }
	v.screen.whole = func(a *record.Approval) string { return v.opts.Whole(ctx, a) }
	program := tea.NewProgram(v.screen, tea.WithContext(ctx), tea.WithInput(v.opts.In), tea.WithOutput(v.opts.Out),
		tea.WithEnvironment(v.opts.Environ), tea.WithFPS(int(time.Second/redrawEvery)))
	v.mu.Lock()
	v.program = program
	v.mu.Unlock()
	over := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		select {
		case <-v.ended:
			v.flush() // apply the last updates too
			program.Quit()
		case <-over:
		}
	})
	v.enqueue(func(*Model) {}) // apply updates from before the start
	_, err := program.Run()
	close(over)
	group.Wait()
	v.mu.Lock()
	v.program = nil
	v.mu.Unlock()
	left := ctx.Err() != nil || errors.Is(err, tea.ErrInterrupted)
	select {
	case <-v.ended:
	default:
		left = left || err == nil // by pressing a key
	}
	if left {
		err = ErrLeft
	}
	return v.screen.model.Record(), err
}

// screen adapts a Model to bubbletea.
type screen struct {
	model   *Model
	do      func(Act) (string, error)
	whole   func(*record.Approval) (lacking string)
	preview func(record.Approval) (string, error)
}

type (
	newsMsg  []func(*Model)
	clockMsg time.Time
	doneMsg  struct {
		act  Act
		said string
		err  error
	}
	readMsg struct {
		approval record.Approval
		lacking  string
	}
	previewMsg struct {
		approval record.Approval
		text     string
		err      error
	}
)

func (s *screen) Init() tea.Cmd {
	s.model.Tick(time.Now())
	return clock()
}

func clock() tea.Cmd {
	return tea.Tick(spinEvery, func(now time.Time) tea.Msg { return clockMsg(now) })
}

func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	s.model.Tick(time.Now())
	switch msg := msg.(type) {
	case clockMsg:
		return s, clock()
	case newsMsg:
		for _, take := range msg {
			take(s.model)
		}
	case tea.WindowSizeMsg:
		s.model.Resize(msg.Width, msg.Height)
	case doneMsg:
		if msg.err != nil {
			s.model.Refused(msg.act, msg.err.Error())
		} else {
			s.model.Say(msg.said)
		}
	case previewMsg:
		s.model.Previewed(msg.approval, msg.text, msg.err)
	case readMsg:
		s.model.Asked(msg.approval, msg.lacking)
	case tea.PasteMsg:
		s.model.Paste(msg)
	case tea.KeyPressMsg:
		if act := s.model.Key(msg); act != nil {
			return s, s.act(*act)
		}
	}
	return s, nil
}

// act carries out a user's request in the background.
func (s *screen) act(act Act) tea.Cmd {
	switch act.Do {
	case Leave:
		return tea.Quit
	case Read:
		return func() tea.Msg {
			lacking := s.whole(&act.Approval)
			return readMsg{act.Approval, lacking}
		}
	case Preview:
		return func() tea.Msg {
			text, err := s.preview(act.Approval)
			return previewMsg{act.Approval, text, err}
		}
	}
	s.model.Say("sending …")
	return func() tea.Msg {
		said, err := s.do(act)
		return doneMsg{act, said, err}
	}
}

func (s *screen) View() tea.View {
	v := tea.NewView(s.model.Frame())
	v.AltScreen = true
	return v
}
