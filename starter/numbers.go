package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/inbox"
)

// number assigns inbox numbers to items.
func (c *cli) number(all []thing) error {
	known, err := c.numbers()
	if err != nil {
		return err
	}
	keys := make([]*inbox.Item, len(all))
	for i, one := range all {
		key := one.key()
		keys[i] = &key
	}
	err = known.Give(keys)
	for i := range all {
		all[i].N = keys[i].N
	}
	return err
}

// listedAs returns the item with a number.
func (c *cli) listedAs(n int) (inbox.Item, error) {
	known, err := c.numbers()
	if err != nil {
		return inbox.Item{}, err
	}
	found, ok, err := known.Get(n)
	if err == nil && !ok {
		err = usagef("no entry %d in the inbox: run `starter inbox` to see the numbers", n)
	}
	return found, err
}

// numbers returns the file with the numbers. There is one per user, host and system.
func (c *cli) numbers() (inbox.Numbers, error) {
	dir := c.getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return inbox.Numbers{}, fmt.Errorf("the numbers of the inbox: %w", err)
		}
		dir = filepath.Join(home, ".local", "state")
	}
	of := []string{c.server}
	if !c.remote() {
		opts, _, err := c.temporal()
		if err != nil {
			return inbox.Numbers{}, err
		}
		of = []string{opts.HostPort, opts.Namespace}
	}
	return inbox.Numbers{Path: filepath.Join(dir, "inquest", "inbox-"+digestOf(of...)+".json")}, nil
}

func digestOf(words ...string) string {
	body, _ := json.Marshal(words) // strings always encode
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])[:12]
}

// asListed returns the item that an inbox number refers to, provided that the item is still pending and unchanged. ok is false
// if the argument is not a number, or is not in the inbox but names a running investigation.
func (c *cli) asListed(ctx context.Context, args []string) (found inbox.Item, ok bool, err error) {
	if len(args) != 1 {
		return found, false, nil
	}
	word, marked := strings.CutPrefix(args[0], "#")
	n, err := strconv.Atoi(word)
	if err != nil {
		return found, false, nil
	}
	found, err = c.listedAs(n)
	if !marked {
		h, absent := c.client().Find(ctx, word)
		switch named := absent == nil && h.Running(); {
		case named && err != nil:
			return found, false, nil
		case named:
			return found, true, usagef("%s is a number of the inbox and an investigation: give '#%[1]s', or the id and what waits in it", word)
		}
	}
	if err != nil {
		return found, true, err
	}
	waiting, err := c.client().Waiting(ctx, found.Investigation)
	if err != nil && !errors.Is(err, client.ErrEnded) {
		return found, true, err
	}
	found.N = 0
	for _, w := range waiting {
		for _, one := range thingsIn(w) {
			if one.key() == found {
				return found, true, nil
			}
		}
	}
	why := cmp.Or(c.client().Fate(ctx, found.Investigation, found.Name), "`starter inbox` lists what does")
	return found, true, fmt.Errorf("number %d was %s %s of %s, which waits no more: %s", n, found.Kind, found.Name, found.Investigation, why)
}
