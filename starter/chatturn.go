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

// chatSession is a conversation as one person has it on the screen.
type chatSession struct {
	*cli
	source     terminal.Source // nil = the store is not on this machine
	flags      chatFlags
	named      string        // the thread as it was called before the turn; "" = the API names it
	thread     client.Handle // as it was when it was looked at last
	known      bool          // there was a thread
	name       string        // of the agent
	shown      int64         // sequence number of the last entry on the screen
	interrupts chan os.Signal
}

// tell says something to the person, unless nothing but JSON is wanted.
func (s *chatSession) tell(format string, args ...any) {
	if !s.json {
		s.say(format, args...)
	}
}

// once has one turn.
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

// introduce says how to go on later with a conversation that has begun.
func (s *chatSession) introduce() {
	s.tell("conversation %s with %s; to go on later:\n  starter chat --agent %[2]s --thread %[1]s",
		command.ShellWord(s.flags.thread), command.ShellWord(s.flags.agent))
}

// turn says something, shows what the agent does about it, and prints the reply.
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

// show shows the turn from the store, until it is over; whole if the reply has
// been printed with it.
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
	if !s.known && s.named != "" { // the API has named it otherwise, and it is introduced
		s.introduce()
	}
	if s.known && h.ID() != s.thread.ID() { // it was closed, and this is another one
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

// begun finds the conversation once its agent is known; "" = the turn is over before: there is no such agent.
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

// wait waits for the end of the turn. The first Ctrl-C asks the agent to
// conclude, the second one is errLeft; before a worker has the message, the first is.
func (s *chatSession) wait(ctx, accepted, over context.Context) error {
	for interrupted := false; ; interrupted = true {
		select {
		case <-over.Done():
			return nil
		case <-s.interrupts:
		}
		if !interrupted {
			select { // who has just been asked may not have answered yet
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

// tellWaiting says which calls wait for a person, where the store cannot say so.
func (s *chatSession) tellWaiting(ctx, over context.Context) {
	told := map[string]bool{}
	for over.Err() == nil {
		var status workflows.ConversationStatus
		if s.remote() {
			waiting, _ := s.client().Waiting(ctx, s.flags.thread) // what cannot be asked now, can be later
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

// printReply prints a reply that is not on the screen yet, and why it is the last
// word for now, if it is not the usual reason.
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
