// Package notify tells people and other systems about investigations: by signed webhooks, in Mattermost, Microsoft Teams and Slack, and
// by email (docs/how-to/get-notified.md). The store writes what happens to a table, in the transaction in which it happens. One process,
// which holds a lease, applies the routes and sends.
package notify

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/kit/lease"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// Options are the dependencies of the face.
type Options struct {
	Settings config.Notifications // with their variables expanded
	Calendar plan.Calendar        // of quiet hours
	PageURL  string               // public address of the page; empty means none
	Client   *http.Client         // nil means one that follows no redirects
	System   System
	Store    Store
	Logger   *slog.Logger
}

// System reads investigations.
type System interface {
	Whole(ctx context.Context, id string) (system.Record, error)
	Evidence(ctx context.Context, r system.Record) (evidence.Evidence, error)
}

// Store keeps the notifications that have not been sent.
type Store interface {
	Lease(ctx context.Context, name, owner string, d time.Duration) (held bool, err error)
	AnyNews() (<-chan struct{}, func())
	DueNotifications(ctx context.Context, limit int) ([]record.Notification, error)
	ReplaceNotification(ctx context.Context, n int64, others ...record.Notification) error
	PostponeNotification(ctx context.Context, m record.Notification) error
	Acts(ctx context.Context, f record.ActFilter, fn func(audit.Act) error) error
	Investigation(ctx context.Context, id string) (record.Investigation, error)
	Waiting(ctx context.Context, id string) ([]record.Waiting, error)
	AddChatMessage(ctx context.Context, m record.ChatMessage) (now record.ChatMessage, added bool, err error)
}

const (
	// lookEvery is the time between two looks at the store without news of changes, which can get lost.
	lookEvery = 4 * time.Second
	// rest is the minimum time between two looks, because a running investigation changes many times a second.
	rest = 200 * time.Millisecond
	// atOnce limits the notifications that are being sent.
	atOnce = 16
	// sendTime limits an attempt to send a notification.
	sendTime = 30 * time.Second
	// giveUp is how old a notification is when it is no longer tried. One that is due late, after quiet hours for example, is tried
	// leastTries times.
	giveUp     = 24 * time.Hour
	leastTries = 10
	// maxWait is the longest time between two attempts, unless the receiver asks for a longer one.
	maxWait = 5 * time.Minute
)

// Run applies the routes and sends notifications until ctx ends. One process of those that run it does the work.
func Run(ctx context.Context, opts Options) {
	if opts.Client == nil {
		opts.Client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	lease.Run(ctx, record.NotificationsLease, opts.Store.Lease, opts.Logger, func(ctx context.Context) {
		(&owner{Options: opts, sending: map[int64]bool{}, sent: make(chan int64)}).work(ctx)
	})
}

// owner is the process that sends.
type owner struct {
	Options
	group   sync.WaitGroup
	sending map[int64]bool // by number of the notification
	sent    chan int64     // removes a number from sending
}

func (o *owner) work(ctx context.Context) {
	news, stop := o.Store.AnyNews()
	defer stop()
	defer o.group.Wait()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		o.look(ctx)
		if !lease.Sleep(ctx, rest) {
			return
		}
		select {
		case <-ctx.Done():
		case <-news:
		case n := <-o.sent:
			delete(o.sending, n)
		case <-tick.C:
		}
	}
}

// look starts to send what is due.
func (o *owner) look(ctx context.Context) {
	due, err := o.Store.DueNotifications(ctx, 2*atOnce)
	if err != nil {
		return // the next tick looks again
	}
	for _, m := range due {
		if o.sending[m.N] || len(o.sending) >= atOnce {
			continue
		}
		o.sending[m.N] = true
		o.group.Go(func() {
			o.handle(ctx, m)
			select {
			case o.sent <- m.N:
			case <-ctx.Done():
			}
		})
	}
}

// handle routes or sends a notification, and records the outcome.
func (o *owner) handle(ctx context.Context, m record.Notification) {
	log := o.Logger.With("investigation", m.Investigation, "channel", m.Channel)
	limited, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	event, err := o.event(limited, m)
	switch {
	case err != nil:
	case event == nil, m.Channel == "" && time.Since(m.At) > giveUp: // no longer true, or from a time without a sender
		err = o.Store.ReplaceNotification(ctx, m.N)
	case m.Channel == "":
		err = o.Store.ReplaceNotification(ctx, m.N, o.routed(m, *event)...)
	default:
		if err = o.send(limited, m.Channel, *event); err == nil {
			err = o.Store.ReplaceNotification(ctx, m.N)
			log.DebugContext(ctx, "sent a notification", "id", event.ID, "type", event.Type)
		}
	}
	if err == nil || ctx.Err() != nil {
		return
	}
	refusal, refused := errors.AsType[*refusedError](err)
	if refused && !refusal.temporary || time.Since(m.At) > giveUp && m.Tries >= leastTries {
		log.ErrorContext(ctx, "a notification is given up", "tries", m.Tries+1, "error", err)
		_ = o.Store.ReplaceNotification(ctx, m.N)
		return
	}
	wait := min(time.Second<<min(m.Tries, 10), maxWait)
	if refused {
		wait = max(wait, refusal.retryAfter)
	}
	log.WarnContext(ctx, "a notification will be retried", "tries", m.Tries+1, "retry_in", wait, "error", err)
	m.Tries, m.Due = m.Tries+1, time.Now().Add(wait)
	_ = o.Store.PostponeNotification(ctx, m)
}

// refusedError is the answer of a receiver that did not accept a notification.
type refusedError struct {
	err        error
	temporary  bool
	retryAfter time.Duration
}

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }
