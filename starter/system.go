package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
)

// system returns the system that the flags name.
func (c *cli) system() client.Options {
	path, _ := c.storePath() // sayNoStore explains a missing store
	return client.Options{Temporal: c.temporal, TaskQueue: c.taskQueue, Store: store.At(path), Tell: func(text string) {
		if !c.quiet {
			c.say("%s", text)
		}
	}}
}

// temporal returns the options for connecting to Temporal.
func (c *cli) temporal() (sdk.Options, payload.Keys, error) {
	opts, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{ConfigFileProfile: c.profile})
	if err != nil {
		return opts, payload.Keys{}, usagef("Temporal client configuration: %w", err)
	}
	opts.HostPort, opts.Namespace = cmp.Or(c.address, opts.HostPort), cmp.Or(c.namespace, opts.Namespace)
	keys, err := payload.LoadKeys(c.getenv)
	if err != nil {
		return opts, keys, usagef("%w", err)
	}
	return opts, keys, nil
}

// storePath returns the file or the address of the workers' store, whether or not it exists.
func (c *cli) storePath() (string, error) {
	if c.store != "" {
		return c.store, nil
	}
	return command.DefaultStore()
}

// meant completes the ID of an investigation from a prefix. If that fails, it returns the ID unchanged and the command reports the error.
func (c *cli) meant(ctx context.Context, id string) (string, error) {
	if id == "" { // all of them
		return "", nil
	}
	whole, err := c.client().Resolve(ctx, id)
	switch {
	case errors.As(err, new(*client.InputError)):
		return id, err
	case err != nil:
		return id, nil
	case whole != id:
		c.say("%s is taken for %s", id, whole)
	}
	return whole, nil
}

// whole loads a report or a reply that was too large for Temporal.
func (c *cli) whole(ctx context.Context, what string, text *string, ref string) error {
	err := c.client().Text(ctx, text, ref)
	switch {
	case errors.Is(err, client.ErrNoStore):
		c.say("the %s is larger than %d KB and only in the store, which is not here (--store)", what, activities.MaxInlineReport>>10)
	case errors.Is(err, record.ErrNotFound):
		c.say("the %s is larger than %d KB and not in this store: the workers use another one (--store)", what, activities.MaxInlineReport>>10)
	default:
		return err
	}
	return nil
}

// sayNoStore explains why the output is incomplete.
func (c *cli) sayNoStore() {
	path, err := c.storePath()
	if err != nil {
		c.say("%v", err)
	}
	c.say("no store at %s: showing what Temporal knows (--store says where the workers' store is)", store.At(path))
}

// sayStore names the store that has nothing pending, if no flag names one: the workers may use another.
func (c *cli) sayStore(ctx context.Context) {
	st, err := c.client().Store(ctx)
	if path, _ := c.storePath(); err == nil && st != nil && c.store == "" {
		c.say("no pending calls or questions in the store %s: set --store if your workers use another one", path)
	}
}

// text returns the text that an argument stands for: itself, a file's content (@path), or standard input (-).
func (c *cli) text(what, arg string) (string, error) {
	var raw []byte
	var err error
	switch {
	case arg == "-":
		raw, err = io.ReadAll(c.in)
	case strings.HasPrefix(arg, "@"):
		raw, err = os.ReadFile(arg[1:])
	default:
		raw = []byte(arg)
	}
	if err != nil {
		return "", usagef("%s: %w", what, err)
	}
	if !utf8.Valid(raw) {
		return "", usagef("%s is not valid UTF-8 text", what)
	}
	return string(raw), nil
}
