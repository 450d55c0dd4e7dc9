package base

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// Tell prints a message of the system, unless the command is quiet.
func (c *CLI) Tell(text string) {
	if !c.Quiet {
		c.Say("%s", text)
	}
}

// StorePath returns the file or the address of the workers' store, whether or not it exists.
func (c *CLI) StorePath() (string, error) {
	if c.Store != "" {
		return c.Store, nil
	}
	return command.DefaultStore()
}

// Meant completes the ID of an investigation from a prefix. If that fails, it returns the ID unchanged and the command reports the error.
func (c *CLI) Meant(ctx context.Context, id string) (string, error) {
	if id == "" { // all of them
		return "", nil
	}
	whole, err := c.Client().Resolve(ctx, id)
	switch {
	case errors.As(err, new(*system.InputError)):
		return id, err
	case err != nil:
		return id, nil
	case whole != id:
		c.Say("%s: using the ID %s", id, whole)
	}
	return whole, nil
}

// Whole loads a report or a reply that was too large for Temporal.
func (c *CLI) Whole(ctx context.Context, what string, text *string, ref string) error {
	err := c.Client().Text(ctx, text, ref)
	switch {
	case errors.Is(err, system.ErrNoStore):
		c.Say("the %s is larger than %d KB and only in the store, which was not found here (set --store)", what, activities.MaxInlineReport>>10)
	case errors.Is(err, record.ErrNotFound):
		c.Say("the %s is larger than %d KB and not in this store: the workers use a different store (set --store)",
			what, activities.MaxInlineReport>>10)
	default:
		return err
	}
	return nil
}

// SayNoStore explains why the output is incomplete.
func (c *CLI) SayNoStore() {
	path, err := c.StorePath()
	if err != nil {
		c.Say("%v", err)
	}
	if c.Full != nil {
		path = c.Local().StoreName()
	}
	c.Say("no store at %s: showing what Temporal knows (set --store to the workers' store)", path)
}

// SayStore names the default store that was searched, because the workers may use another one.
func (c *CLI) SayStore(ctx context.Context) {
	st, err := c.OpenStore(ctx)
	if path, _ := c.StorePath(); err == nil && st != nil && c.Store == "" {
		c.Say("no pending calls or questions in the store %s: set --store if your workers use another one", path)
	}
}

// Text returns the text that an argument stands for: itself, a file's content (@path), or standard input (-).
func (c *CLI) Text(what, arg string) (string, error) {
	var raw []byte
	var err error
	switch {
	case arg == "-":
		raw, err = io.ReadAll(c.In)
	case strings.HasPrefix(arg, "@"):
		raw, err = os.ReadFile(arg[1:])
	default:
		raw = []byte(arg)
	}
	if err != nil {
		return "", Usagef("%s: %w", what, err)
	}
	if !utf8.Valid(raw) {
		return "", Usagef("%s is not valid UTF-8", what)
	}
	return string(raw), nil
}
