// Package safely runs functions that somebody else has written.
package safely

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrCrashed: the function has panicked, or ended its goroutine.
var ErrCrashed = errors.New("it crashed")

// Run runs a function until it returns or ctx ends; what it returns later is dropped.
// If it panics, panicked is told the type of the value, and the stack: the value
// itself may hold anything, secrets too.
func Run[T any](ctx context.Context, run func() (T, error), panicked func(kind, stack string)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		out := result{err: ErrCrashed} // which stands if the goroutine is ended
		defer func() {
			if p := recover(); p != nil {
				panicked(fmt.Sprintf("%T", p), string(debug.Stack()))
			}
			done <- out
		}()
		var got result
		got.value, got.err = run()
		out = got
	}()
	select {
	case out := <-done:
		return out.value, out.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
