// Package safely runs functions of other authors, and survives their panics.
package safely

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrCrashed means that the function has panicked or ended its goroutine.
var ErrCrashed = errors.New("it crashed")

// Run runs a function until it returns or ctx ends; a later result is dropped. If the
// function panics, panicked receives the type of the value and the stack, but not the
// value itself, which may hold secrets.
func Run[T any](ctx context.Context, run func() (T, error), panicked func(kind, stack string)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		out := result{err: ErrCrashed} // stays if run panics or ends the goroutine
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
