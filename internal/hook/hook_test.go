package hook_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/kit/safely"
)

// The caller survives whatever a function does.
func TestCall(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	for name, tt := range map[string]struct {
		run  hook.Func
		want error
	}{
		"an error": {func(context.Context, hook.Input) (hook.Output, error) { return hook.Output{}, own }, own},
		"a panic":  {func(context.Context, hook.Input) (hook.Output, error) { panic("s3cret") }, safely.ErrCrashed},
		"an end":   {func(context.Context, hook.Input) (hook.Output, error) { runtime.Goexit(); return hook.Output{}, nil }, safely.ErrCrashed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			made, err := tt.run.Call(t.Context(), hook.Input{}, slog.New(slog.NewTextHandler(&log, nil)))
			if !errors.Is(err, tt.want) || made != nil {
				t.Errorf("got %v, %v", made, err)
			}
			if logged := log.Len() > 0; logged != (name == "a panic") || strings.Contains(log.String(), "s3cret") {
				t.Errorf("log: %s", &log)
			}
		})
	}
}

// A function that ignores its context is not awaited.
func TestCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	begun, hold := make(chan struct{}), make(chan struct{})
	defer close(hold)
	deaf := hook.Mock(func(context.Context, hook.MockInput) (any, error) {
		close(begun)
		<-hold
		return "late", nil
	})
	go func() {
		<-begun
		cancel()
	}()
	if text, err := deaf.Call(ctx, hook.MockInput{}, slog.New(slog.DiscardHandler)); !errors.Is(err, context.Canceled) || text != "" {
		t.Errorf("got %q, %v", text, err)
	}
}
