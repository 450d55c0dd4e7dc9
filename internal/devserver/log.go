package devserver

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// logger forwards the server's log. While the server starts and stops, its services cannot find each other and log that as warnings
// and errors. These messages are hidden unless debug is enabled.
type logger struct {
	log     *slog.Logger
	running *atomic.Bool
}

var (
	_ log.Logger     = (*logger)(nil)
	_ log.WithLogger = (*logger)(nil)
)

func newLogger(l *slog.Logger) *logger {
	return &logger{log: cmp.Or(l, slog.New(slog.DiscardHandler)), running: new(atomic.Bool)}
}

func (l *logger) started()  { l.running.Store(true) }
func (l *logger) stopping() { l.running.Store(false) }

// With returns a logger that adds tags to all its messages.
func (l *logger) With(tags ...tag.Tag) log.Logger {
	return &logger{log: slog.New(l.log.Handler().WithAttrs(attrs(tags))), running: l.running}
}

// Debug discards messages, which are for developers of the server.
func (l *logger) Debug(string, ...tag.Tag) {}

// Info logs at debug level.
func (l *logger) Info(msg string, tags ...tag.Tag) { l.emit(slog.LevelDebug, msg, tags) }

// missedSchedule is a warning about every run of a schedule while this process was down, which is normal for this server.
const missedSchedule = "Schedule missed catchup window"

// Warn logs at its own level while the server runs.
func (l *logger) Warn(msg string, tags ...tag.Tag) {
	if msg == missedSchedule {
		l.emit(slog.LevelDebug, msg, tags)
		return
	}
	l.emitRunning(slog.LevelWarn, msg, tags)
}

// Error logs at its own level while the server runs.
func (l *logger) Error(msg string, tags ...tag.Tag) { l.emitRunning(slog.LevelError, msg, tags) }

// DPanic logs impossible states and continues.
func (l *logger) DPanic(msg string, tags ...tag.Tag) { l.emit(slog.LevelError, msg, tags) }

// Panic logs and panics.
func (l *logger) Panic(msg string, tags ...tag.Tag) { l.die(msg, tags) }

// Fatal logs and panics, because the server relies on it not returning and this process contains more than the server.
func (l *logger) Fatal(msg string, tags ...tag.Tag) { l.die(msg, tags) }

func (l *logger) die(msg string, tags []tag.Tag) {
	l.emit(slog.LevelError, msg, tags)
	panic(fmt.Sprintf("temporal server: %s %v", msg, attrs(tags)))
}

func (l *logger) emitRunning(level slog.Level, msg string, tags []tag.Tag) {
	if !l.running.Load() {
		level = slog.LevelDebug
	}
	l.emit(level, msg, tags)
}

func (l *logger) emit(level slog.Level, msg string, tags []tag.Tag) {
	ctx := context.Background() // the server's log has no contexts
	if l.log.Enabled(ctx, level) {
		l.log.LogAttrs(ctx, level, msg, attrs(tags)...)
	}
}

func attrs(tags []tag.Tag) []slog.Attr {
	as := make([]slog.Attr, len(tags))
	for i, t := range tags {
		as[i] = slog.Any(t.Key(), t.Value())
	}
	return as
}
