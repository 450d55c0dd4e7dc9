package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/workflows"
)

// chatSession is a conversation on one user's screen.
type chatSession struct {
	*cli
	source     terminal.Source // nil means that the store is not on this machine
	flags      chatFlags
	named      string        // name of the thread before the turn; empty means that the API names it
	thread     client.Handle // as last seen
	known      bool          // the thread existed before
	name       string        // of the agent
	shown      int64         // sequence number of the last printed entry
	interrupts chan os.Signal
}

// tell prints a message to the user, except in JSON mode.
func (s *chatSession) tell(format string, args ...any) {
	if !s.json {
		s.say(format, args...)
	}
}

// once runs a single turn.
func (s *chatSession) once(ctx context.Context, text string) error {
	if _, err := s.past(ctx); err != nil {
		return err
	}
	reply, err := s.turn(ctx, text)
	if err == nil && s.json {
		return s.printJSON(struct {
			Thread string `json:"thread"`
			workflows.Reply
		}{s.flags.thread, reply})
	}
	return err
}

// introduce says how to continue a new conversation later.
func (s *chatSession) introduce() {
	s.tell("conversation %s with %s; to go on later:\n  starter chat --agent %[2]s --thread %[1]s",
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
		reply, err = s.client().Say(asking, client.Words{
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
		return reply, errLeft
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
	if s.source == nil || s.json {
		s.tellWaiting(ctx, over)
		return false
	}
	opts := s.options(s.flags.verbose)
	opts.Notices = notices(h.ID())
	last, err := terminal.WatchTurn(ctx, over, s.source, terminal.Turn{Conversation: h.ID(), After: s.shown, Said: text}, opts)
	if err != nil && !errors.Is(err, context.Canceled) {
		s.say("starter: %v", err)
	}
	whole = err == nil && last > s.shown
	s.shown = last
	return whole
}

// begun waits until the conversation's agent is known. An empty name means that the turn ended before that, because there is no such
// agent.
func (s *chatSession) begun(ctx, over context.Context) (h client.Handle, name string, err error) {
	for {
		ended := over.Err() != nil
		h, name, err = s.client().FindThread(ctx, s.flags.thread)
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
// accepted the message, the first one does.
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
			s.say("\nNot waiting any more; what the agent has taken on goes on.")
			if thread != "" {
				s.say("To come back:\n  starter chat --thread %s", command.ShellWord(thread))
			}
			return errLeft
		}
		err := s.client().Conclude(ctx, s.flags.thread, s.flags.by)
		if err != nil {
			s.say("starter: ask the agent to conclude: %v", err)
			continue
		}
		s.say("\nThe agent is asked to conclude. Ctrl-C once more leaves, and the agent goes on.")
	}
}

// tellWaiting says which calls need approval when the store cannot.
func (s *chatSession) tellWaiting(ctx, over context.Context) {
	told := map[string]bool{}
	for over.Err() == nil {
		var status workflows.ConversationStatus
		if s.remote() {
			waiting, _ := s.client().Waiting(ctx, s.flags.thread) // a failed query is repeated later
			for _, w := range waiting {
				status.Waiting = append(status.Waiting, w.Approvals...)
			}
		}
		if s.remote() || s.thread.Ask(ctx, &status) == nil {
			for _, a := range status.Waiting {
				if n := waitingNotice(s.flags.thread, a); !told[n.Command] {
					told[n.Command] = true
					s.say("%s", n.Lines("! ", terminal.Detect(s.err, s.getenv).Width))
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
	if err := s.whole(ctx, "reply", &reply.Text, reply.TextRef); err != nil || s.json {
		return err
	}
	if !whole {
		if _, err := fmt.Fprintln(s.out, terminal.Clean(reply.Text)); err != nil {
			return err
		}
	}
	if reply.StopReason != agent.StopEndTurn {
		s.tell("! stopped: %s", reply.StopReason)
	}
	if until := reply.PausedUntil; until.After(time.Now()) {
		s.tell("! heartbeats paused until %s; a message wakes the agent", until.Local().Format(time.TimeOnly))
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
		return usagef("the conversation was refused: %s", failed.Message())
	case failed.HasDetails():
		return fmt.Errorf("the turn failed: %s (%s)", failed.Message(), failed.Type())
	}
	return fmt.Errorf("not said: %s", failed.Message())
}
