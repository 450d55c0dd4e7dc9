package command

import (
	"context"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"
)

// While a database or a disk is away, a worker and the embedded server say the same several times a second. A log has the
// first lines, and then one line a minute that says how often it was repeated.
const (
	repeatsShown  = 3 // of one kind, before the others are counted only
	repeatsWithin = time.Minute
	maxRepeats    = 1000 // kinds of lines that are counted at once; others are all written
)

// whose are attributes that tell apart what a line is about: a line of another investigation is no repetition.
var whose = []string{
	"investigation", "execution", "WorkflowID", "ActivityType", "stage", "agent", "server", "tool", "provider", "model", "webhook", "alert",
}

// quieter limits warnings and errors that repeat one another. Its handlers share what they have counted.
type quieter struct {
	next   slog.Handler
	about  string // whose of the attributes that the handler adds
	counts *repeats
}

// limitRepeats returns a handler that writes to next, without most of the lines that repeat others.
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
	if q.counts.holds(context.WithoutCancel(ctx), kind, r, q.next) {
		return nil
	}
	return q.next.Handle(ctx, r)
}

// kindOf is what an attribute adds to the kind of a line: whose it is, and which error it tells of, without numbers.
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

// numbers differ between errors of one kind: ports, durations, times, ids.
var numbers = regexp.MustCompile(`[0-9a-fA-F]*[0-9][0-9a-fA-F]*`)

// repeats counts lines by their kind.
type repeats struct {
	mu    sync.Mutex
	known map[string]*repeated
}

type repeated struct {
	shown, held int
	last        slog.Record // of those held
	next        slog.Handler
}

// holds reports whether a line is held back, and counts it.
func (c *repeats) holds(ctx context.Context, kind string, r slog.Record, next slog.Handler) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.known[kind]
	switch {
	case k == nil && len(c.known) >= maxRepeats:
		return false
	case k == nil:
		k = &repeated{}
		c.known[kind] = k
		time.AfterFunc(repeatsWithin, func() { c.tell(ctx, kind) })
	}
	if k.shown < repeatsShown {
		k.shown++
		return false
	}
	k.held, k.last, k.next = k.held+1, r.Clone(), next
	return true
}

// tell writes how often a line was repeated, and forgets a kind that was not.
func (c *repeats) tell(ctx context.Context, kind string) {
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
	time.AfterFunc(repeatsWithin, func() { c.tell(ctx, kind) })
	c.mu.Unlock()
	_ = next.Handle(ctx, last)
}
