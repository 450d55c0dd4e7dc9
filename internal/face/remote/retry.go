package remote

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/inquest-dev/inquest/internal/system"
)

const (
	// patience is how long to retry a request that is safe to repeat.
	patience = time.Minute
	// longestPause limits how long a Retry-After can delay the next attempt.
	longestPause = time.Minute
)

// persist repeats a call for as long as retryable reports that its error may be temporary.
func persist[Out any](ctx context.Context, r *Client, retryable func(error) bool, call func() (Out, error)) (out Out, err error) {
	for n := 0; ; n++ {
		out, err = call()
		switch {
		case ctx.Err() != nil:
			return out, ctx.Err()
		case err == nil:
			r.reportAway(nil) // an earlier call may have given up while the API was unavailable
			return out, nil
		case !retryable(err):
			return out, err
		}
		r.reportAway(err)
		pause(ctx, retryPause(n, err))
	}
}

// passing reports whether an error may be temporary.
func passing(err error) bool {
	failed, ok := errors.AsType[*apiError](err)
	return errors.As(err, new(*AwayError)) || ok && (failed.status > http.StatusInternalServerError ||
		slices.Contains([]int{http.StatusRequestTimeout, http.StatusTooManyRequests}, failed.status))
}

// patiently returns passing with a time limit. Until something has reached the API, it does not retry, so a wrong address fails at once.
func patiently() func(error) bool {
	until, reached := time.Now().Add(patience), false
	return func(err error) bool {
		reached = reached || errors.As(err, new(doubtError)) || !errors.As(err, new(*AwayError))
		return reached && passing(err) && time.Now().Before(until)
	}
}

// reportAway reports once that the API is unavailable and, with nil, that it is available again. An API that refuses requests for a while,
// for example with status 429, is unavailable too.
func (r *transport) reportAway(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Tell == nil || r.lost == (err != nil) {
		return
	}
	if r.lost = err != nil; !r.lost {
		r.Tell("the API at " + r.url + " is available again")
		return
	}
	if doubt, ok := errors.AsType[doubtError](err); ok { // waiting removes the doubt
		err = doubt.error
	}
	r.Tell(err.Error() + "; waiting")
}

// retryPause is how long to wait after n+1 consecutive errors: as long as the response asks for, else with exponential backoff and
// jitter, so that clients do not retry in step.
func retryPause(n int, err error) time.Duration {
	d := system.RetryAfter << min(n, 5)
	d = d/2 + rand.N(d/2)
	if failed, ok := errors.AsType[*apiError](err); ok {
		d = max(d, min(failed.after, longestPause))
	}
	return d
}

// retryIn parses Retry-After, either seconds or a date. Zero means that there is none.
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

// pause sleeps until d has passed or ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
