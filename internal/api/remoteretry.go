package api

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const (
	// patience is for how long something is asked for that is done once, however often it is.
	patience = time.Minute
	// longestPause is for how long an answer (Retry-After) may put off the next try.
	longestPause = time.Minute
)

// persist makes a call again for as long as its error says that it may go otherwise in a moment.
func persist[Out any](ctx context.Context, r *Remote, again func(error) bool, call func() (Out, error)) (out Out, err error) {
	for n := 0; ; n++ {
		out, err = call()
		switch {
		case ctx.Err() != nil:
			return out, ctx.Err()
		case err == nil && n > 0:
			r.tell(nil)
			return out, nil
		case err == nil || !again(err):
			return out, err
		}
		r.tell(err)
		pause(ctx, retryPause(n, err))
	}
}

// passing: it may go otherwise in a moment.
func passing(err error) bool {
	told, ok := errors.AsType[*toldError](err)
	return errors.As(err, new(*AwayError)) || ok && (told.status > http.StatusInternalServerError ||
		slices.Contains([]int{http.StatusRequestTimeout, http.StatusTooManyRequests}, told.status))
}

// patiently is passing, for a while, and from when something has reached the API: that nobody is at its address is said at once.
func patiently() func(error) bool {
	until, reached := time.Now().Add(patience), false
	return func(err error) bool {
		reached = reached || errors.As(err, new(doubtError)) || !errors.As(err, new(*AwayError))
		return reached && passing(err) && time.Now().Before(until)
	}
}

// tell says, once, that the API is waited for, and with nil that it answers again.
func (r *Remote) tell(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Tell == nil || r.lost == (err != nil) {
		return
	}
	if r.lost = err != nil; !r.lost {
		r.Tell("the API at " + r.url + " answers again")
		return
	}
	if doubt, ok := errors.AsType[doubtError](err); ok { // which waiting ends
		err = doubt.error
	}
	r.Tell(err.Error() + "; waiting")
}

// retryPause is how long to wait after n+1 errors in a row: as long as the answer says, or longer each time, and not equally long for
// all who wait.
func retryPause(n int, err error) time.Duration {
	d := retryAfter << min(n, 5)
	d = d/2 + rand.N(d/2)
	if told, ok := errors.AsType[*toldError](err); ok {
		d = max(d, min(told.after, longestPause))
	}
	return d
}

// retryIn is when an answer says to come again: a number of seconds or a date; 0 = it does not.
func retryIn(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return time.Until(at)
	}
	return 0
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
