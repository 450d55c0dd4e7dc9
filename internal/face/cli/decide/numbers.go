package decide

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

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/inbox"
	"github.com/inquest-dev/inquest/internal/system"
)

// number assigns inbox numbers to items.
func number(c *base.CLI, all []thing) error {
	known, err := numbers(c)
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
func listedAs(c *base.CLI, n int) (inbox.Item, error) {
	known, err := numbers(c)
	if err != nil {
		return inbox.Item{}, err
	}
	found, ok, err := known.Get(n)
	if err == nil && !ok {
		err = base.Usagef("no item %d in the inbox: run `starter inbox` to see the numbers", n)
	}
	return found, err
}

// numbers returns the file with the numbers. There is one per user, host and system.
func numbers(c *base.CLI) (inbox.Numbers, error) {
	dir := c.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return inbox.Numbers{}, fmt.Errorf("inbox numbers: %w", err)
		}
		dir = filepath.Join(home, ".local", "state")
	}
	of := []string{c.Server}
	if !c.Remote() {
		var err error
		if of, err = c.Local().Place(); err != nil {
			return inbox.Numbers{}, err
		}
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
func asListed(ctx context.Context, c *base.CLI, args []string) (found inbox.Item, ok bool, err error) {
	if len(args) != 1 {
		return found, false, nil
	}
	word, marked := strings.CutPrefix(args[0], "#")
	n, err := strconv.Atoi(word)
	if err != nil {
		return found, false, nil
	}
	found, err = listedAs(c, n)
	if !marked {
		h, absent := c.Client().Find(ctx, word)
		switch named := absent == nil && h.Open; {
		case named && err != nil:
			return found, false, nil
		case named:
			return found, true, base.Usagef("%s is both an inbox number and an investigation: give '#%[1]s', or the ID and the pending item", word)
		}
	}
	if err != nil {
		return found, true, err
	}
	waiting, err := c.Client().Waiting(ctx, found.Investigation)
	if err != nil && !errors.Is(err, system.ErrEnded) {
		return found, true, err
	}
	sought := found
	sought.N = 0 // as in key
	for _, w := range waiting {
		for _, one := range thingsIn(w) {
			if one.key() == sought {
				return found, true, nil
			}
		}
	}
	why := cmp.Or(c.Client().Fate(ctx, found.Investigation, found.Name), "run `starter inbox` to see what is pending")
	return found, true, fmt.Errorf("item %d (%s %s of %s) is no longer pending: %s",
		n, found.Kind, found.Name, found.Investigation, why)
}
