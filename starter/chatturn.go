package main

import (
	"context"
	"errors"
	"os"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/workflows"
)

// chatSession is a conversation as one person has it on the screen.
type chatSession struct {
	*cli
	store      *store.Store // nil = not on this machine
	flags      chatFlags
	thread     client.Handle // as it was when it was looked at last
	known      bool          // there was a thread
	name       string        // of the agent
	shown      int64         // sequence number of the last entry on the screen
	interrupts chan os.Signal
}

// tell says something to the person, unless nothing but JSON is wanted.
func (s *chatSession) tell(format string, args ...any) {
	if !s.flags.json {
		s.say(format, args...)
	}
}

// once has one turn.
func (s *chatSession) once(ctx context.Context, text string) error {
	s.introduce()
	if _, err := s.past(ctx); err != nil {
		return err
	}
	reply, err := s.turn(ctx, text)
	if err == nil && s.flags.json {
		return s.printJSON(struct {
			Thread string `json:"thread"`
			workflows.Reply
		}{s.flags.thread, reply})
	}
	return err
}

// introduce says how to go on later.
func (s *chatSession) introduce() {
	if !s.known {
		s.tell("conversation %s with %s; to go on later: starter chat --agent %[2]s --thread %[1]s", shellWord(s.flags.thread), shellWord(s.flags.agent))
	}
}

// turn says something, shows what the agent does about it, and prints the reply.
func (s *chatSession) turn(ctx context.Context, text string) (workflows.Reply, error) {
	asking, leave := context.WithCancel(ctx)
	defer leave()
	accepted, over := make(chan struct{}), make(chan struct{})
	var reply workflows.Reply
	var err error
	go func() {
		defer close(over)
		reply, err = s.client().Say(asking, client.Words{
			Thread: s.flags.thread, Text: text, By: s.flags.by, Agent: s.flags.agent, Provider: s.flags.provider,
		}, func() { close(accepted) })
	}()
	shown := make(chan bool, 1)
	go func() { shown <- s.show(asking, text, accepted, over) }()
	if s.wait(asking, accepted, over) != nil {
		leave()
		<-over
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
func (s *chatSession) show(ctx context.Context, text string, accepted, over <-chan struct{}) (whole bool) {
	select {
	case <-accepted:
	case <-over:
		return false
	}
	h, name, err := s.client().FindThread(ctx, s.flags.thread)
	if err != nil {
		return false
	}
	if s.known && h.ID() != s.thread.ID() { // it was closed, and this is another one
		s.shown = 0
	}
	s.thread, s.name, s.known = h, name, true
	if s.store == nil || s.flags.json {
		s.tellWaiting(ctx, over)
		return false
	}
	watched, opts := newLookout(s.store, h), s.options(s.flags.verbose)
	opts.Notices = watched.tell
	last, err := terminal.WatchTurn(ctx, watched, terminal.Turn{Conversation: h.ID(), After: s.shown, Said: text, Over: over}, opts)
	if err != nil && !errors.Is(err, context.Canceled) {
		s.say("starter: %v", err)
	}
	whole = err == nil && last > s.shown
	s.shown = last
	return whole
}
