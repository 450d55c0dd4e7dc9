package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

func (r *Client) Threads(ctx context.Context, agent string, limit int) ([]system.Thread, error) {
	open, err := do(ctx, r, system.ListConversations, system.ThreadsIn{Agent: agent})
	if limit > 0 {
		open.Items = open.Items[:min(limit, len(open.Items))]
	}
	return open.Items, err
}

func (r *Client) FindThread(ctx context.Context, thread string) (system.Handle, string, error) {
	t, err := do(ctx, r, system.GetConversation, system.ThreadIn{ID: thread})
	return system.HandleOf(t.ID, t.Open), t.Agent, err
}

const (
	firstWait = 1   // seconds: the response confirms that the message was accepted
	longWait  = 300 // seconds to wait for a reply per request
)

// Say sends a message to the thread. Without one, it begins a conversation, and the API names the thread. Thanks to an
// idempotency key, the message is sent only once, even if the API is unreachable for a while.
func (r *Client) Say(ctx context.Context, w system.Words, accepted func(thread string)) (reply workflows.Reply, err error) {
	key := system.MessageKey{Key: rand.Text()}
	say := func(wait int, retryable func(error) bool) (system.Spoken, error) {
		within := timeout + time.Duration(wait)*time.Second
		return persist(ctx, r, retryable, func() (out system.Spoken, err error) {
			if w.Thread == "" {
				body := system.BeginBody{Project: w.Project, Agent: w.Agent, Provider: w.Provider, Text: w.Text}
				in := system.BeginIn{Wait: wait, MessageKey: key, Body: body}
				err = r.callWithin(ctx, within, system.BeginConversation.Operation, in, &out)
				return out, err
			}
			in := system.SayIn{ThreadIn: system.ThreadIn{ID: w.Thread}, Wait: wait, MessageKey: key, Body: system.SayBody{Text: w.Text}}
			err = r.callWithin(ctx, within, system.Say.Operation, in, &out)
			return out, err
		})
	}
	out, err := say(firstWait, patiently())
	if err == nil && accepted != nil {
		accepted(out.Thread)
	}
	for n := 0; err == nil && out.Reply == nil; n++ { // the message was accepted, only the reply is missing
		if n > 0 { // avoid a tight loop if the server does not wait
			pause(ctx, pollEvery)
		}
		out, err = say(longWait, passing)
	}
	if err != nil {
		return reply, err
	}
	out.Reply.TextRef = "" // the text is complete
	return *out.Reply, nil
}

func (r *Client) Conclude(ctx context.Context, thread, _ string) error {
	_, err := do(ctx, r, system.ConcludeTurn, system.ThreadIn{ID: thread})
	return err
}

func (r *Client) CloseThread(ctx context.Context, thread string) error {
	_, err := do(ctx, r, system.CloseConversation, system.ThreadIn{ID: thread})
	return err
}

// Talk reads conversations from the API for a terminal.
type Talk struct{ remote *Client }

// Conversations returns a Talk that uses this client.
func (r *Client) Conversations() Talk { return Talk{r} }

// Follow calls fn for each update after the given entry, until ctx ends or fn returns an error.
func (t Talk) Follow(ctx context.Context, id string, after int64, fn func(record.Update) error) error {
	s := stream{remote: t.remote, id: id, row: system.WatchConversation.Operation, last: after, fn: func(e system.Event) error {
		switch {
		case e.Update != nil:
			return fn(*e.Update)
		case e.Connection == nil || e.Connection.To != t.remote.url:
		case e.Connection.Lost.IsZero():
			t.remote.reportAway(nil)
		default:
			t.remote.reportAway(&AwayError{t.remote.url, errors.New("the stream has ended")})
		}
		return nil
	}}
	return s.readAll(ctx)
}

// After returns a conversation's entries after the given one. It ignores the limit and returns all.
func (t Talk) After(ctx context.Context, id string, after int64, _ int) ([]transcript.Entry, error) {
	return entriesOf(func(after int64) (system.Entries, error) {
		return do(ctx, t.remote, system.GetConversationTranscript, system.ThreadTranscriptIn{
			ThreadIn: system.ThreadIn{ID: id}, PartIn: system.PartIn{After: after, Limit: mostRead},
		})
	}, after)
}
