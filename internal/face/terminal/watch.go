package terminal

import (
	"errors"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
)

// errEnded stops following because nothing more will come.
var errEnded = errors.New("the investigation has ended")

// Watch prints an investigation, first its past and then live, until it has ended, and returns its final record. It leaves the end to
// End or Brief. follow must call take with the store's updates from the beginning. Watch returns an error of follow with the last known
// record.
func Watch(opts Options, follow func(take func(record.Update) error) error) (record.Investigation, error) {
	v := newView(opts)
	err := v.follow(follow)
	v.p.closeLine()
	if errors.Is(err, errEnded) {
		err = v.p.err
	}
	return v.record, err
}

// follow prints updates. It returns errEnded after the last one of an investigation.
func (v *view) follow(follow func(take func(record.Update) error) error) error {
	defer v.countDown()()
	return follow(func(u record.Update) error {
		v.mu.Lock()
		defer v.mu.Unlock()
		defer v.p.restore()
		v.take(u)
		if v.talk || u.More { // print ends after everything that led to them
			return v.p.err
		}
		v.printEnds()
		if v.record.Status.Closed() {
			return errEnded
		}
		return v.p.err
	})
}

// countDown updates the status line with the time of the next attempt every second until stop is called.
func (v *view) countDown() (stop func()) {
	over := make(chan struct{})
	var counting sync.WaitGroup
	counting.Go(func() {
		second := time.NewTicker(time.Second)
		defer second.Stop()
		for {
			select {
			case <-second.C:
				v.mu.Lock()
				if len(v.trouble) > 0 {
					v.p.restore()
				}
				v.mu.Unlock()
			case <-over:
				return
			}
		}
	})
	return func() {
		close(over)
		counting.Wait()
		v.p.last = nil
		v.p.clear()
	}
}
