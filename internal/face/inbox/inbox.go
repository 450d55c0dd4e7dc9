// Package inbox keeps the numbers that people use for pending items.
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

// Item is a listed item.
type Item struct {
	N             int    `json:"n"`
	Investigation string `json:"investigation"`
	Name          string `json:"name"`
	Kind          string `json:"kind"`
	Digest        string `json:"digest"` // of the call or the question
}

// Numbers keeps the numbers of listed items in the file at Path. An item keeps its number, and numbers are never reused, because an old
// window may still show them.
type Numbers struct{ Path string }

// listed is the content of the file.
type listed struct {
	Last   int    `json:"last"`
	Things []Item `json:"things"`
}

const kept = 200 // items that are no longer listed, kept to report their outcome

// Give assigns numbers to listed items.
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

// Find sets the number of each item: zero if it was not listed before.
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

// Is reports whether two items are the same apart from their numbers.
func (i Item) Is(other Item) bool {
	i.N, other.N = 0, 0
	return i == other
}

// Get returns the item with a number. ok is false if there is none.
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

// use locks out other processes and passes the file's content to read. If read returns true, use saves its changes. The lock
// is a separate file, because each save replaces the file itself.
func (n Numbers) use(read func(*listed) (changed bool)) error {
	if err := os.MkdirAll(filepath.Dir(n.Path), 0o700); err != nil {
		return fmt.Errorf("inbox numbers: %w", err)
	}
	lock, err := os.OpenFile(n.Path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("inbox numbers: %w", err)
	}
	defer lock.Close() // releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	var known listed
	body, err := os.ReadFile(n.Path)
	if err == nil {
		err = json.Unmarshal(body, &known)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read inbox numbers in %s (you can delete the file): %w", n.Path, err)
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
