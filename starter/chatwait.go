package main

import (
	"context"
	"time"

	"github.com/inquest-dev/inquest/workflows"
)

// wait waits for the end of the turn. The first Ctrl-C asks the agent to
// conclude, the second one is errLeft; before a worker has the message, the first is.
func (s *chatSession) wait(ctx context.Context, accepted, over <-chan struct{}) error {
	for interrupted := false; ; interrupted = true {
		select {
		case <-over:
			return nil
		case <-s.interrupts:
		}
		if !interrupted {
			select { // who has just been asked may not have answered yet
			case <-accepted:
			case <-over:
				return nil
			case <-time.After(time.Second):
			}
		}
		if interrupted || !isClosed(accepted) {
			s.say("\nNot waiting any more; what the agent has taken on goes on:\n  starter chat --thread %s", shellWord(s.flags.thread))
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
func (s *chatSession) tellWaiting(ctx context.Context, over <-chan struct{}) {
	told := map[string]bool{}
	for !isClosed(over) && ctx.Err() == nil {
		var status workflows.ConversationStatus
		if s.thread.Ask(ctx, &status) == nil {
			for _, a := range status.Waiting {
				if line := waitingLine(s.flags.thread, a); !told[line] {
					told[line] = true
					s.say("! %s", line)
				}
			}
		}
		select {
		case <-over:
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func isClosed(over <-chan struct{}) bool {
	select {
	case <-over:
		return true
	default:
		return false
	}
}
