package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/workflows"
)

// printReply prints a reply that is not on the screen yet, and why it is the last
// word for now, if it is not the usual reason.
func (s *chatSession) printReply(ctx context.Context, reply *workflows.Reply, whole bool) error {
	if err := s.fetchText(ctx, reply); err != nil || s.flags.json {
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

// fetchText reads a text that was too large for the reply.
func (s *chatSession) fetchText(ctx context.Context, reply *workflows.Reply) error {
	if reply.TextRef == "" {
		return nil
	}
	text, err := s.client().Blob(ctx, reply.TextRef)
	if errors.Is(err, client.ErrNoStore) {
		s.say("the reply is larger than %d KB and only in the store, which is not here (--store)", activities.MaxInlineReport>>10)
		return nil
	}
	reply.Text = string(text)
	return err
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
