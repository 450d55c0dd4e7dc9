// Package inbox keeps the numbers by which people name what waits for them.
package inbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Item is a thing as it was listed.
type Item struct {
	N             int    `json:"n"`
	Investigation string `json:"investigation"`
	Name          string `json:"name"`
	Kind          string `json:"kind"`
	Digest        string `json:"digest"` // of the call, or of the question
}

// Numbers are those of what has been listed, in the file of that path. A thing keeps its number,
// and no other ever gets it: an old window may still show what it was.
type Numbers struct{ Path string }

// listed is what the file has.
type listed struct {
	Last   int    `json:"last"`
	Things []Item `json:"things"`
}

const kept = 200 // things that are listed no more, to say what became of them

// Give sets the numbers of things that are listed.
func (n Numbers) Give(all []*Item) error {
	if len(all) == 0 {
		return nil
	}
	return n.use(func(known *listed) (changed bool) {
		byItem := map[Item]int{}
		for _, one := range known.Things {
			number := one.N
			one.N = 0
			byItem[one] = number
		}
		for _, one := range all {
			one.N = 0
			number := byItem[*one]
			if number == 0 {
				known.Last++
				number, changed = known.Last, true
				byItem[*one] = number
				one.N = number
				known.Things = append(known.Things, *one)
			}
			one.N = number
		}
		known.Things = known.Things[max(len(known.Things)-kept-len(all), 0):]
		return changed
	})
}

// Find sets the numbers of things that have been listed; 0 = one has not.
func (n Numbers) Find(all []*Item) error {
	return n.use(func(known *listed) (changed bool) {
		for _, one := range all {
			one.N = 0
			for _, item := range known.Things {
				if number := item.N; item.Is(*one) {
					one.N = number
				}
			}
		}
		return false
	})
}

// Is reports whether two items are the same thing, whatever their numbers.
func (i Item) Is(other Item) bool {
	i.N, other.N = 0, 0
	return i == other
}

// Get returns what was listed with a number; ok is false if nothing was.
func (n Numbers) Get(number int) (found Item, ok bool, err error) {
	err = n.use(func(known *listed) (changed bool) {
		for _, one := range known.Things {
			if one.N == number {
				found, ok = one, true
			}
		}
		return false
	})
	return found, ok, err
}

// use has a function read, and if it says so change, what has been listed, alone of all processes.
// The lock is on a file of its own: that with the numbers is replaced, so that it is always whole.
func (n Numbers) use(read func(*listed) (changed bool)) error {
	if err := os.MkdirAll(filepath.Dir(n.Path), 0o700); err != nil {
		return fmt.Errorf("the numbers of the inbox: %w", err)
	}
	lock, err := os.OpenFile(n.Path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("the numbers of the inbox: %w", err)
	}
	defer lock.Close() // which lets go of it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	var known listed
	body, err := os.ReadFile(n.Path)
	if err == nil {
		err = json.Unmarshal(body, &known)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s (it can be removed): %w", n.Path, err)
	}
	if !read(&known) {
		return nil
	}
	if body, err = json.Marshal(known); err == nil {
		err = os.WriteFile(n.Path+".new", body, 0o600)
	}
	if err == nil {
		err = os.Rename(n.Path+".new", n.Path)
	}
	return err
}
