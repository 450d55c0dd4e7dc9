package command

import (
	"context"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"
)

// While a database or a disk is unavailable, a worker and the embedded server log the same several times a second. The log gets the first
// few lines, then one line a minute with the number of repetitions.
const (
	repeatsShown  = 3 // lines of one kind that are written before the others are only counted
	repeatsWithin = time.Minute
	maxRepeats    = 1000 // kinds of lines that are counted at once; all others are written
)

// whose lists the attributes that identify the subject of a line. A line about another investigation is not a repetition.
var whose = []string{
	"investigation", "execution", "WorkflowID", "ActivityType", "stage", "agent", "server", "tool", "provider", "model", "webhook", "alert",
}

// quieter limits repeated warnings and errors. Handlers derived from it share its counts.
type quieter struct {
	next   slog.Handler
	about  string // the identifying attributes that the handler adds
	counts *repeats
}

// limitRepeats returns a handler that passes lines on to next, without most repetitions.
func limitRepeats(next slog.Handler) slog.Handler {
	return quieter{next: next, counts: &repeats{known: map[string]*repeated{}}}
}

func (q quieter) Enabled(ctx context.Context, level slog.Level) bool {
	return q.next.Enabled(ctx, level)
}

func (q quieter) WithGroup(name string) slog.Handler {
	return quieter{next: q.next.WithGroup(name), about: q.about, counts: q.counts}
}

func (q quieter) WithAttrs(attrs []slog.Attr) slog.Handler {
	about := q.about
	for _, a := range attrs {
		about += kindOf(a)
	}
	return quieter{next: q.next.WithAttrs(attrs), about: about, counts: q.counts}
}

func (q quieter) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return q.next.Handle(ctx, r)
	}
	kind := r.Level.String() + "\n" + r.Message + "\n" + q.about
	r.Attrs(func(a slog.Attr) bool {
		kind += kindOf(a)
		return true
	})
	if q.counts.suppress(context.WithoutCancel(ctx), kind, r, q.next) {
		return nil
	}
	return q.next.Handle(ctx, r)
}

// kindOf returns the part of a line's kind that comes from an attribute: the subject, or the error without numbers.
func kindOf(a slog.Attr) string {
	for _, name := range whose {
		if a.Key == name {
			return a.Key + "=" + a.Value.String() + "\n"
		}
	}
	if strings.EqualFold(a.Key, "error") {
		return "error=" + numbers.ReplaceAllString(a.Value.String(), "N") + "\n"
	}
	return ""
}

// numbers matches the parts that differ between errors of one kind: ports, durations, times, IDs.
var numbers = regexp.MustCompile(`[0-9a-fA-F]*[0-9][0-9a-fA-F]*`)

// repeats counts lines by kind.
type repeats struct {
	mu    sync.Mutex
	known map[string]*repeated
}

type repeated struct {
	shown, held int
	last        slog.Record // the last line held back
	next        slog.Handler
}

// suppress counts a line and reports whether to hold it back.
func (c *repeats) suppress(ctx context.Context, kind string, r slog.Record, next slog.Handler) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.known[kind]
	switch {
	case k == nil && len(c.known) >= maxRepeats:
		return false
	case k == nil:
		k = &repeated{}
		c.known[kind] = k
		time.AfterFunc(repeatsWithin, func() { c.flush(ctx, kind) })
	}
	if k.shown < repeatsShown {
		k.shown++
		return false
	}
	k.held, k.last, k.next = k.held+1, r.Clone(), next
	return true
}

// flush writes how often a line was repeated. It forgets a kind without repetitions.
func (c *repeats) flush(ctx context.Context, kind string) {
	c.mu.Lock()
	k := c.known[kind]
	if k.held == 0 {
		delete(c.known, kind)
		c.mu.Unlock()
		return
	}
	last, next := k.last, k.next
	last.AddAttrs(slog.Int("repeated", k.held), slog.Duration("within", repeatsWithin))
	k.held = 0
	time.AfterFunc(repeatsWithin, func() { c.flush(ctx, kind) })
	c.mu.Unlock()
	_ = next.Handle(ctx, last)
}
