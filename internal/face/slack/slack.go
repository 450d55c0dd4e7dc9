// Package slack lets people use investigations from threads in Slack (docs/how-to/use-slack.md). Every process that runs it receives
// what people do and writes that to the store. One of them, which holds a lease, carries it out in order and posts messages.
package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/kit/lease"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// Options are the dependencies of the face.
type Options struct {
	Settings config.Slack
	Secrets  configuration.SlackSecrets
	PageURL  string // public address of the page; empty means none
	APIURL   string // of Slack; empty means the real one
	// RequestTimeout limits a request to Slack; zero means 30 seconds.
	RequestTimeout time.Duration
	// Operations runs the operations of the system for the caller in the context, and checks the caller's permissions.
	Operations system.Caller
	// As returns a context in which operations run for a person.
	As func(ctx context.Context, name string, user config.SlackUser) context.Context
	// Explain turns an error of an operation into one for people, with its HTTP status. Internal errors go to the log only.
	Explain func(ctx context.Context, operation string, err error) (text string, status int)
	// Refused records in the audit trail that a person was refused an operation.
	Refused func(ctx context.Context, investigation, who, operation, why string) error
	// Mask masks a text in the way in which requests are masked.
	Mask   func(ctx context.Context, text string) (string, error)
	System System
	Store  Store
	Logger *slog.Logger
}

// System follows and reads the investigations whose threads the face keeps up to date.
type System interface {
	Find(ctx context.Context, id string) (system.Handle, error)
	Follow(ctx context.Context, h system.Handle, after int64, fn func(system.Event) error) (system.Result, error)
	Whole(ctx context.Context, id string) (system.Record, error)
	Evidence(ctx context.Context, r system.Record) (evidence.Evidence, error)
	Text(ctx context.Context, text *string, ref string) error
	Fate(ctx context.Context, id, name string) string
}

// Store keeps the state of the face.
type Store interface {
	Lease(ctx context.Context, name, owner string, d time.Duration) (held bool, err error)
	ChatNews() (<-chan struct{}, func())
	AddChatMessage(ctx context.Context, m record.ChatMessage) (now record.ChatMessage, added bool, err error)
	SetChatMessage(ctx context.Context, m record.ChatMessage) (set bool, err error)
	ChatMessages(ctx context.Context, investigation string) ([]record.ChatMessage, error)
	ChatThreads(ctx context.Context) ([]record.ChatMessage, error)
	ChatThreadAt(ctx context.Context, channel, thread string) ([]record.ChatMessage, error)
	AddChatInput(ctx context.Context, in record.ChatInput) error
	ChatInputs(ctx context.Context) ([]record.ChatInput, error)
	ChatInputDone(ctx context.Context, id string) error
	AlertInvestigations(ctx context.Context, project string, fingerprints []string, since time.Time) (ids []string, waiting bool, err error)
}

// Face is the connection to one workspace.
type Face struct {
	opts Options
	api  *slack.Client
	me   *slack.AuthTestResponse // set before anything is received
	up   chan struct{}           // closed once me is set

	mu     sync.Mutex
	people map[string]person // by Slack's ID
}

// person is a user of Slack as the configuration knows them.
type person struct {
	name  string
	user  config.SlackUser
	known bool
	until time.Time // then Slack is asked again
}

const (
	// lookEvery is the time between two looks at the store without news of changes, which can get lost.
	lookEvery = 4 * time.Second
	// editEvery is the minimum time between two edits of a status message.
	editEvery = 2 * time.Second
	callTime  = system.CallTimeout
	// keepPerson is how long an answer of Slack about a person is used.
	keepPerson = 10 * time.Minute
)

// New returns a face. Nothing happens until Run.
func New(opts Options) *Face {
	log := slog.NewLogLogger(opts.Logger.Handler(), slog.LevelDebug)
	options := []slack.Option{
		slack.OptionLog(log), slack.OptionAppLevelToken(opts.Secrets.App),
		slack.OptionHTTPClient(&http.Client{Timeout: cmp.Or(opts.RequestTimeout, callTime)}), // it has no timeout of its own
		// Only answers with the status 429 are retried here: Slack has not carried out those requests.
		slack.OptionRetryConfig(slack.RetryConfig{MaxRetries: 20, RetryAfterDuration: 30 * time.Second}),
	}
	if opts.APIURL != "" {
		options = append(options, slack.OptionAPIURL(opts.APIURL))
	}
	return &Face{opts: opts, api: slack.New(opts.Secrets.Bot, options...), up: make(chan struct{}), people: map[string]person{}}
}

// Run works until ctx ends.
func (f *Face) Run(ctx context.Context) {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		me, err := f.api.AuthTestContext(ctx)
		if err == nil {
			f.me = me
			break
		}
		f.opts.Logger.WarnContext(ctx, "cannot sign in to Slack", "error", err, "retry_in", wait)
		if !lease.Sleep(ctx, wait) {
			return
		}
	}
	close(f.up)
	var group sync.WaitGroup
	defer group.Wait()
	if f.opts.Settings.Mode != config.SlackHTTP {
		group.Go(func() { f.listen(ctx) })
	}
	lease.Run(ctx, "slack", f.opts.Store.Lease, f.opts.Logger, f.own)
}

// who returns the person behind a user's ID. An entry by email address counts only for members of our own workspace, because another
// workspace decides which addresses its members have.
func (f *Face) who(ctx context.Context, id string) (person, error) {
	if user, ok := f.opts.Settings.Users[id]; ok {
		return person{name: cmp.Or(user.Name, id), user: user, known: true}, nil
	}
	f.mu.Lock()
	found, ok := f.people[id]
	f.mu.Unlock()
	if ok && time.Now().Before(found.until) {
		return found, nil
	}
	u, err := f.api.GetUserInfoContext(ctx, id)
	if refusal := (slack.SlackErrorResponse{}); err != nil && !errors.As(err, &refusal) {
		return person{}, fmt.Errorf("look up the user %s: %w", id, err)
	}
	found = person{name: "slack:" + id, until: time.Now().Add(keepPerson)}
	if err == nil && u.TeamID == f.me.TeamID && !u.IsBot && !u.IsStranger && !u.Deleted && u.Profile.Email != "" {
		// any order: the configuration refuses addresses that differ only in case
		for email, user := range f.opts.Settings.Users {
			if strings.EqualFold(email, u.Profile.Email) {
				found.name, found.user, found.known = cmp.Or(user.Name, email), user, true
			}
		}
	}
	f.mu.Lock()
	f.people[id] = found
	f.mu.Unlock()
	return found, nil
}

// as returns a context for operations in the name of a person. All other users have no role.
func (f *Face) as(ctx context.Context, p person) context.Context {
	if !p.known {
		p.user = config.SlackUser{Grant: config.Grant{Projects: []string{}}}
	}
	return f.opts.As(ctx, p.name, p.user)
}

// do runs an operation for the person in ctx.
func do[In, Out any](ctx context.Context, f *Face, row system.Op[In, Out], in In) (out Out, err error) {
	err = f.opts.Operations.Call(ctx, row.Operation, in, &out)
	return out, err
}
