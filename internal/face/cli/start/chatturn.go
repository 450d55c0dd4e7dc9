package start

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/decide"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// chatSession is a conversation on one user's screen.
type chatSession struct {
	*base.CLI
	source     terminal.Source // nil means that the store is not on this machine
	flags      chatFlags
	named      string        // name of the thread before the turn; empty means that the API names it
	thread     system.Handle // as last seen
	known      bool          // the thread existed before
	name       string        // of the agent
	shown      int64         // sequence number of the last printed entry
	interrupts chan os.Signal
}

// notify prints a message to the user, except in JSON mode.
func (s *chatSession) notify(format string, args ...any) {
	if !s.JSON {
		s.Say(format, args...)
	}
}

// once runs a single turn.
func (s *chatSession) once(ctx context.Context, text string) error {
	if _, err := s.past(ctx); err != nil {
		return err
	}
	reply, err := s.turn(ctx, text)
	if err == nil && s.JSON {
		return s.PrintJSON(struct {
			Thread string `json:"thread"`
			workflows.Reply
		}{s.flags.thread, reply})
	}
	return err
}

// introduce says how to continue a new conversation later.
func (s *chatSession) introduce() {
	s.notify("Conversation %s with %s. To continue it later:\n  starter chat --agent %[2]s --thread %[1]s",
		command.ShellWord(s.flags.thread), command.ShellWord(s.flags.agent))
}

// turn sends a message, shows the agent's work, and prints the reply.
func (s *chatSession) turn(ctx context.Context, text string) (workflows.Reply, error) {
	s.named = s.flags.thread
	asking, leave := context.WithCancel(ctx)
	defer leave()
	accepted, accept := context.WithCancel(ctx)
	over, end := context.WithCancel(ctx)
	var reply workflows.Reply
	var err error
	go func() {
		defer end()
		reply, err = s.Client().Say(asking, system.Words{
			Thread: s.flags.thread, Text: text, By: s.flags.by, Agent: s.flags.agent, Provider: s.flags.provider,
		}, func(thread string) {
			if s.flags.thread == "" {
				s.flags.thread = thread
				s.introduce()
			}
			accept()
		})
	}()
	shown := make(chan bool, 1)
	go func() { shown <- s.show(asking, text, accepted, over) }()
	if s.wait(asking, accepted, over) != nil {
		leave()
		<-over.Done()
		<-shown
		return reply, base.ErrLeft
	}
	if whole := <-shown; err == nil {
		err = s.printReply(ctx, &reply, whole)
	}
	return reply, failedTurn(err)
}

// show prints the turn from the store until it is over. whole means that it has printed the reply.
func (s *chatSession) show(ctx context.Context, text string, accepted, over context.Context) (whole bool) {
	select {
	case <-accepted.Done():
	case <-over.Done():
		return false
	}
	h, name, err := s.begun(ctx, over)
	if err != nil || name == "" {
		return false
	}
	if !s.known && s.named != "" { // the API chose another name
		s.introduce()
	}
	if s.known && h.ID() != s.thread.ID() { // the old one was closed, and this is a new one
		s.shown = 0
	}
	s.thread, s.name, s.known = h, name, true
	if s.source == nil || s.JSON {
		s.notifyWaiting(ctx, over)
		return false
	}
	opts := s.Options(s.flags.verbose)
	opts.Notices = decide.Notices(h.ID())
	last, err := terminal.WatchTurn(ctx, over, s.source, terminal.Turn{Conversation: h.ID(), After: s.shown, Said: text}, opts)
	if err != nil && !errors.Is(err, context.Canceled) {
		s.Say("starter: %v", err)
	}
	whole = err == nil && last > s.shown
	s.shown = last
	return whole
}

// begun waits until the conversation's agent is known. An empty name means that the turn ended before that, because there is no such
// agent.
func (s *chatSession) begun(ctx, over context.Context) (h system.Handle, name string, err error) {
	for {
		ended := over.Err() != nil
		h, name, err = s.Client().FindThread(ctx, s.flags.thread)
		if err != nil || name != "" || ended {
			return h, name, err
		}
		select {
		case <-over.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// wait waits for the end of the turn. The first Ctrl-C asks the agent to conclude, and the second returns errLeft. Before a worker has
// accepted the message, even the first returns errLeft.
func (s *chatSession) wait(ctx, accepted, over context.Context) error {
	for interrupted := false; ; interrupted = true {
		select {
		case <-over.Done():
			return nil
		case <-s.interrupts:
		}
		if !interrupted {
			select { // the agent may not have reacted yet
			case <-accepted.Done():
			case <-over.Done():
				return nil
			case <-time.After(time.Second):
			}
		}
		if interrupted || accepted.Err() == nil {
			thread := s.named
			if accepted.Err() != nil {
				thread = s.flags.thread
			}
			text := "The agent continues."
			if accepted.Err() == nil {
				text = "No worker has accepted the message yet, so it may be lost."
			}
			s.Say("\nStopped waiting. %s", text)
			if thread != "" {
				s.Say("To come back:\n  starter chat --thread %s", command.ShellWord(thread))
			}
			return base.ErrLeft
		}
		err := s.Client().Conclude(ctx, s.flags.thread, s.flags.by)
		if err != nil {
			s.Say("starter: could not ask the agent to conclude: %v", err)
			continue
		}
		s.Say("\nThe agent has been asked to conclude. Press Ctrl-C again to leave; the agent then continues.")
	}
}

// notifyWaiting prints the calls that need approval when there is no store to show them.
func (s *chatSession) notifyWaiting(ctx, over context.Context) {
	notified := map[string]bool{}
	for over.Err() == nil {
		var status workflows.ConversationStatus
		if s.Remote() {
			waiting, _ := s.Client().Waiting(ctx, s.flags.thread) // a failed query is repeated later
			for _, w := range waiting {
				status.Waiting = append(status.Waiting, w.Approvals...)
			}
		}
		if s.Remote() || s.Local().Ask(ctx, s.thread, &status) == nil {
			for _, a := range status.Waiting {
				if n := decide.WaitingNotice(s.flags.thread, a); !notified[n.Command] {
					notified[n.Command] = true
					s.Say("%s", n.Lines("! ", terminal.Detect(s.Err, s.Getenv).Width))
				}
			}
		}
		select {
		case <-over.Done():
		case <-time.After(time.Second):
		}
	}
}

// printReply prints a reply that is not on the screen yet, and why the turn ended if that is unusual.
func (s *chatSession) printReply(ctx context.Context, reply *workflows.Reply, whole bool) error {
	if err := s.Whole(ctx, "reply", &reply.Text, reply.TextRef); err != nil || s.JSON {
		return err
	}
	if !whole {
		if _, err := fmt.Fprintln(s.Out, terminal.Clean(reply.Text)); err != nil {
			return err
		}
	}
	if reply.StopReason != agent.StopEndTurn {
		s.notify("! stopped: %s", reply.StopReason)
	}
	if until := reply.PausedUntil; until.After(time.Now()) {
		s.notify("! heartbeats paused until %s; a message wakes the agent", until.Local().Format(time.TimeOnly))
	}
	return nil
}

// failedTurn says why there is no reply.
func failedTurn(err error) error {
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	switch {
	case !ok:
		return err
	case failed.Type() == activities.ErrorInvalidRequest:
		return base.Usagef("the conversation was refused: %s", failed.Message())
	case failed.HasDetails():
		return fmt.Errorf("the turn failed: %s (%s)", failed.Message(), failed.Type())
	}
	return fmt.Errorf("the message was not accepted: %s", failed.Message())
}
