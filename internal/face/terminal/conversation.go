package terminal

import (
	"context"
	"errors"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Turn describes what to show of a conversation while an agent answers.
type Turn struct {
	Conversation string
	// After is the sequence number of the last entry that was shown.
	After int64
	// Said is the user's last message, so that it is not repeated.
	Said string
}

// Source is where WatchTurn gets updates from. A store implements it.
type Source interface {
	Follow(ctx context.Context, conversation string, after int64, fn func(record.Update) error) error
	After(ctx context.Context, conversation string, seq int64, limit int) ([]transcript.Entry, error)
}

// WatchTurn prints a conversation until turn, a context derived from ctx, ends. Everything that happened before that is printed. It
// returns the last sequence number.
func WatchTurn(ctx, turn context.Context, src Source, t Turn, opts Options) (last int64, err error) {
	v := newView(opts)
	v.talk, v.said, v.last = true, t.Said, t.After
	err = v.follow(func(take func(record.Update) error) error { return src.Follow(turn, t.Conversation, t.After, take) })
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		var rest []transcript.Entry
		rest, err = src.After(ctx, t.Conversation, v.last, 0)
		v.take(record.Update{Entries: rest})
	}
	v.p.closeLine()
	return v.last, errors.Join(err, v.p.err)
}

// Recall prints the last n messages of a conversation, without thinking and calls.
func Recall(entries []transcript.Entry, n int, opts Options) error {
	v := newView(opts)
	v.talk = true
	var messages []transcript.Entry
	for _, e := range entries {
		if !e.Superseded && (e.Kind == transcript.KindUser || e.Kind == transcript.KindReply) && e.Text != "" {
			e.Calls, e.Thinking = nil, ""
			messages = append(messages, e)
		}
	}
	for _, e := range messages[max(len(messages)-n, 0):] {
		v.entry(e)
	}
	return v.p.err
}

// printMessage prints a message in a conversation, unless it is on the screen already.
func (v *view) printMessage(l *lane, e transcript.Entry) {
	if v.said != "" && e.Text == v.said {
		v.said = ""
		return
	}
	text := Clean(e.Text)
	if e.By != "" {
		text = CleanLine(e.By) + ": " + text
	}
	v.p.print(l, userBlock, text)
}
