// Package notify sends notifications about investigations: by signed webhooks, in Mattermost, Microsoft Teams and Slack, and by email
// (docs/how-to/get-notified.md). The store writes what happens to a table, in the transaction in which it happens. One process, which
// holds a lease, applies the routes and sends.
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
	PostponeNotification(ctx context.Context, n int64, wait time.Duration) error
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
	// atOnce limits the notifications that are being sent to a channel.
	atOnce = 8
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
		o := owner{Options: opts, sending: map[int64]string{}, paused: map[string]time.Time{}, done: make(chan outcome)}
		o.work(ctx)
	})
}

// owner is the process that sends.
type owner struct {
	Options
	group   sync.WaitGroup
	sending map[int64]string     // channels, by number of the notification
	paused  map[string]time.Time // until when a channel has asked not to send anything
	done    chan outcome
}

// outcome is the end of an attempt.
type outcome struct {
	record.Notification
	pause time.Duration // that the receiver asks for
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
		case one := <-o.done:
			o.finish(one)
		case <-tick.C:
		}
		for more := true; more; {
			select {
			case one := <-o.done:
				o.finish(one)
			default:
				more = false
			}
		}
	}
}

func (o *owner) finish(one outcome) {
	delete(o.sending, one.N)
	if one.pause > 0 {
		o.paused[one.Channel] = time.Now().Add(one.pause)
	}
}

// look starts to send what is due.
func (o *owner) look(ctx context.Context) {
	due, err := o.Store.DueNotifications(ctx, 2*atOnce)
	if err != nil && ctx.Err() == nil {
		o.Logger.WarnContext(ctx, "cannot read the notifications", "error", err) // the next tick looks again
	}
	busy := map[string]int{}
	for _, channel := range o.sending { // any order
		busy[channel]++
	}
	for _, m := range due {
		if _, is := o.sending[m.N]; is || busy[m.Channel] >= atOnce || time.Now().Before(o.paused[m.Channel]) {
			continue
		}
		o.sending[m.N] = m.Channel
		busy[m.Channel]++
		o.group.Go(func() {
			pause := o.handle(ctx, m)
			select {
			case o.done <- outcome{m, pause}:
			case <-ctx.Done():
			}
		})
	}
}

// handle routes or sends a notification, and records the outcome. It returns how long the receiver asks to wait.
func (o *owner) handle(ctx context.Context, m record.Notification) (pause time.Duration) {
	log := o.Logger.With("investigation", m.Investigation, "channel", m.Channel)
	replace := func(others ...record.Notification) {
		o.record(ctx, func() error { return o.Store.ReplaceNotification(ctx, m.N, others...) })
	}
	limited, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	event, err := o.event(limited, m)
	switch {
	case err != nil:
	case event == nil, m.Channel == "" && time.Since(m.At) > giveUp: // no longer true, or from a time without a sender
		replace()
	case m.Channel == "":
		replace(o.routed(m, *event)...)
	default:
		if err = o.send(limited, m.Channel, *event); err == nil {
			log.DebugContext(ctx, "sent a notification", "id", event.ID, "type", event.Type)
			replace()
		}
	}
	if err == nil || ctx.Err() != nil {
		return 0
	}
	refusal, refused := errors.AsType[*refusedError](err)
	if refused && !refusal.temporary || time.Since(m.At) > giveUp && m.Tries >= leastTries {
		log.ErrorContext(ctx, "dropped a notification", "tries", m.Tries+1, "error", err)
		replace()
		return 0
	}
	wait := min(time.Second<<min(m.Tries, 10), maxWait)
	if refused {
		pause = refusal.retryAfter
		wait = max(wait, pause)
	}
	log.WarnContext(ctx, "a notification will be retried", "tries", m.Tries+1, "retry_in", wait, "error", err)
	o.record(ctx, func() error { return o.Store.PostponeNotification(ctx, m.N, wait) })
	return pause
}

// record writes an outcome until the store accepts it, so that nothing is sent again meanwhile.
func (o *owner) record(ctx context.Context, write func() error) {
	for {
		err := write()
		if err == nil || ctx.Err() != nil {
			return
		}
		o.Logger.WarnContext(ctx, "cannot record the outcome of a notification", "error", err)
		if !lease.Sleep(ctx, time.Second) {
			return
		}
	}
}

// refusedError is the answer of a receiver that did not accept a notification.
type refusedError struct {
	err        error
	temporary  bool
	retryAfter time.Duration
}

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }
