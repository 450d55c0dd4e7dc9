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
	"syscall"
	"time"

	"github.com/inquest-dev/inquest/internal/client"
)

// numbers are those of what inbox has listed on this host, for this user, of one system. A thing
// keeps its number, and no other gets it as long as somebody may have it in mind.
type numbers struct {
	Last   int        `json:"last"`
	Listed time.Time  `json:"listed"`
	Things []numbered `json:"things"`
}

// numbered is a thing as it was listed.
type numbered struct {
	N             int    `json:"n"`
	Investigation string `json:"investigation"`
	Name          string `json:"name"`
	Kind          string `json:"kind"`
	Digest        string `json:"digest"` // of the call, or of the question
}

const (
	keptInMind  = 24 * time.Hour // after which numbers begin anew, if nothing waits
	keptNumbers = 200            // of what waits no more, to say what became of it
)

// number gives things their numbers.
func (c *cli) number(all []thing) error {
	return c.numbers(func(known *numbers) bool {
		if len(all) == 0 {
			return false
		}
		if time.Since(known.Listed) > keptInMind {
			*known = numbers{}
		}
		byThing := map[numbered]int{}
		for _, one := range known.Things {
			n := one.N
			one.N = 0
			byThing[one] = n
		}
		for i := range all {
			key := all[i].key()
			if byThing[key] == 0 {
				known.Last++
				byThing[key] = known.Last
				key.N = known.Last
				known.Things = append(known.Things, key)
				key.N = 0
			}
			all[i].N = byThing[key]
		}
		known.Things = known.Things[max(len(known.Things)-keptNumbers-len(all), 0):]
		known.Listed = time.Now()
		return true
	})
}

// listedAs returns what was listed with a number.
func (c *cli) listedAs(n int) (found numbered, err error) {
	err = c.numbers(func(known *numbers) bool {
		for _, one := range known.Things {
			if one.N == n {
				found = one
			}
		}
		return false
	})
	if err == nil && found.N == 0 {
		err = usagef("there is no number %d: `starter inbox` lists what waits", n)
	}
	return found, err
}

// numbers has use read, and if it says so change, what has been listed, alone of all processes.
func (c *cli) numbers(use func(*numbers) (changed bool)) error {
	path, err := c.numbersPath()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return fmt.Errorf("the numbers of the inbox: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("the numbers of the inbox: %w", err)
	}
	defer f.Close() // which lets go of the lock
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	var known numbers
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		if err := json.NewDecoder(f).Decode(&known); err != nil {
			return fmt.Errorf("read %s (it can be removed): %w", path, err)
		}
	}
	if !use(&known) {
		return nil
	}
	body, err := json.Marshal(known)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(body, 0)
	}
	return err
}

// numbersPath is a file for each system: each has numbers of its own.
func (c *cli) numbersPath() (string, error) {
	dir := c.getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, ".local", "state")
	}
	opts, _, err := c.temporal()
	return filepath.Join(dir, "inquest", "inbox-"+digestOf(opts.HostPort, opts.Namespace)+".json"), err
}

func digestOf(words ...string) string {
	body, _ := json.Marshal(words) // texts always can be
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])[:12]
}

// asListed returns what a command names by a number of the inbox, if that still waits as it was
// listed; ok is false if the command names it otherwise.
func (c *cli) asListed(ctx context.Context, args []string) (found numbered, ok bool, err error) {
	if len(args) != 1 {
		return found, false, nil
	}
	n, err := strconv.Atoi(strings.TrimPrefix(args[0], "#"))
	if err != nil {
		return found, false, nil
	}
	if found, err = c.listedAs(n); err != nil {
		return found, true, err
	}
	waiting, err := c.client().Waiting(ctx, found.Investigation)
	if _, over := errors.AsType[*client.EndedError](err); err != nil && !over {
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
