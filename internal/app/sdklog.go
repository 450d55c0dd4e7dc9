package app

import (
	"context"
	"log/slog"

	sdklog "go.temporal.io/sdk/log"
)

// lateLocalActivity is the SDK's warning about a local activity that outlasted its deadline. Workflows expect that: they continue the work
// in an activity, and tell people if they wait for it.
const lateLocalActivity = "LocalActivity completed after activity deadline."

// sdkLogger returns a logger for Temporal's SDK that drops the warnings about what workflows handle.
func sdkLogger(l *slog.Logger) sdklog.Logger {
	return sdklog.NewStructuredLogger(slog.New(handled{l.Handler()}))
}

type handled struct{ slog.Handler }

func (h handled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handled{h.Handler.WithAttrs(attrs)}
}

func (h handled) WithGroup(name string) slog.Handler { return handled{h.Handler.WithGroup(name)} }

func (h handled) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == lateLocalActivity {
		r.Level = slog.LevelDebug
		if !h.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return h.Handler.Handle(ctx, r)
}
