package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

const ofConversations = "conversations"

func (r *Remote) Threads(ctx context.Context, agent string, limit int) ([]client.Thread, error) {
	path := conversations
	if agent != "" {
		path += "?" + url.Values{"agent": {agent}}.Encode()
	}
	open, err := call[page[client.Thread]](ctx, r, http.MethodGet, path, nil)
	if limit > 0 {
		open.Items = open.Items[:min(limit, len(open.Items))]
	}
	return open.Items, err
}

func (r *Remote) FindThread(ctx context.Context, thread string) (client.Handle, string, error) {
	t, err := of[talk](ctx, r, http.MethodGet, ofConversations, thread, "", nil)
	return client.HandleOf(t.ID, t.Open), t.Agent, err
}

const (
	firstWait = 1   // seconds: the response confirms that the message was accepted
	longWait  = 300 // seconds to wait for a reply per request
)

// Say sends a message to the thread, or begins a conversation if there is no thread yet; the API names it. The message is said once,
// however often the API is unreachable meanwhile, thanks to an idempotency key.
func (r *Remote) Say(ctx context.Context, w client.Words, accepted func(thread string)) (reply workflows.Reply, err error) {
	path, in := conversations+"/"+url.PathEscape(w.Thread)+"/messages", any(sayBody{w.Text})
	if w.Thread == "" {
		path, in = conversations, beginBody{Project: w.Project, Agent: w.Agent, Provider: w.Provider, Text: w.Text}
	}
	header := http.Header{"Idempotency-Key": {rand.Text()}}
	say := func(wait int, again func(error) bool) (spoken, error) {
		return persist(ctx, r, again, func() (spoken, error) {
			within := remoteTimeout + time.Duration(wait)*time.Second
			return callWithin[spoken](ctx, r, within, http.MethodPost, fmt.Sprintf("%s?wait=%d", path, wait), in, header)
		})
	}
	out, err := say(firstWait, patiently())
	if err == nil && accepted != nil {
		accepted(out.Thread)
	}
	for n := 0; err == nil && out.Reply == nil; n++ { // the message was accepted, only the reply is missing
		if n > 0 { // a server that answers early should have waited
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

func (r *Remote) Conclude(ctx context.Context, thread, _ string) error {
	_, err := of[named](ctx, r, http.MethodPost, ofConversations, thread, "/conclude", nil)
	return err
}

func (r *Remote) CloseThread(ctx context.Context, thread string) error {
	_, err := of[named](ctx, r, http.MethodPost, ofConversations, thread, "/close", nil)
	return err
}

// Talk gives a terminal the turns of conversations.
type Talk struct{ remote *Remote }

// Conversations returns the conversations of the API.
func (r *Remote) Conversations() Talk { return Talk{r} }

// Follow calls fn for each update of a conversation after an entry, until ctx ends or fn returns an error.
func (t Talk) Follow(ctx context.Context, id string, after int64, fn func(store.Update) error) error {
	s := remoteStream{remote: t.remote, id: id, path: conversations, last: after, fn: func(e client.Event) error {
		switch {
		case e.Update != nil:
			return fn(*e.Update)
		case e.Connection == nil || e.Connection.To != t.remote.url:
		case e.Connection.Lost.IsZero():
			t.remote.tell(nil)
		default:
			t.remote.tell(&AwayError{t.remote.url, errors.New("the stream has ended")})
		}
		return nil
	}}
	return s.readAll(ctx)
}

// After returns the entries of a conversation after one of them. It ignores the limit and returns all.
func (t Talk) After(ctx context.Context, id string, after int64, _ int) ([]transcript.Entry, error) {
	return t.remote.entries(ctx, ofConversations, id, after)
}
