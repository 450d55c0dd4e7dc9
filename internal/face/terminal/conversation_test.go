package terminal

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// thread is a conversation: the entries that are followed at once, and those that come with the end of the turn.
type thread struct {
	entries []transcript.Entry
	live    []transcript.Live
	early   int // number of entries that are followed
	over    func()
}

func (c *thread) Follow(ctx context.Context, _ string, after int64, fn func(store.Update) error) error {
	if err := fn(store.Update{Entries: c.between(after, int64(c.early)), Live: c.live}); err != nil {
		return err
	}
	c.over()
	<-ctx.Done()
	return ctx.Err()
}

func (c *thread) After(_ context.Context, _ string, seq int64, _ int) ([]transcript.Entry, error) {
	return c.between(seq, int64(len(c.entries))), nil
}

func (c *thread) between(after, last int64) (out []transcript.Entry) {
	for _, e := range c.entries {
		if e.Seq > after && e.Seq <= last {
			out = append(out, e)
		}
	}
	return out
}

func newThread(bodies ...transcript.Entry) *thread {
	c := &thread{entries: bodies}
	for i := range c.entries {
		c.entries[i].Seq, c.entries[i].Execution, c.entries[i].Iteration = int64(i+1), "chat/Memo", i+1
	}
	return c
}

func message(by, text string) transcript.Entry {
	return transcript.Entry{Kind: transcript.KindUser, Body: transcript.Body{Text: text, Said: transcript.Said{By: by}}}
}

func answered(text string) transcript.Entry {
	return transcript.Entry{Kind: transcript.KindReply, Body: transcript.Body{
		Text: text, Answer: transcript.Answer{Model: "m"}, Thinking: "hm",
	}}
}

// A turn shows everything since the last one, up to its end, and does not repeat the user's input.
func TestWatchTurn(t *testing.T) {
	t.Parallel()
	system := transcript.Entry{Kind: transcript.KindSystem, Body: transcript.Body{Text: "You are Memo."}}
	c := newThread(system, message("Ada", "hello"), answered("hi"), message("Bob", "and I?"),
		message("Ada", "why?\x1b[2J"), answered("because"))
	c.early = 4
	var out strings.Builder
	turn, over := context.WithCancel(t.Context())
	c.over = over
	last, err := WatchTurn(t.Context(), turn, c, Turn{Conversation: "c", After: 1, Said: "hello"}, Options{Out: &out})
	if err != nil || last != 6 {
		t.Errorf("last %d, %v", last, err)
	}
	want := `Memo ┊ thinking: hm
Memo │ hi
Memo │ · iteration 3 · m
Memo │ » Bob: and I?
Memo │ » Ada: why?␛[2J
Memo ┊ thinking: hm
Memo │ because
Memo │ · iteration 6 · m
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWatchTurnThatIsLeft(t *testing.T) {
	t.Parallel()
	c := newThread(message("Ada", "hello"))
	ctx, leave := context.WithCancel(t.Context())
	c.over = leave
	leave()
	var out strings.Builder
	if _, err := WatchTurn(ctx, ctx, c, Turn{Conversation: "c"}, Options{Out: &out}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestRecall(t *testing.T) {
	t.Parallel()
	struck := answered("never mind")
	struck.Superseded = true
	c := newThread(message("Ada", "one"), answered("1"), struck, answered(""), message("", "two"), answered("2"))
	var out strings.Builder
	if err := Recall(c.entries, 3, Options{Out: &out}); err != nil {
		t.Fatal(err)
	}
	want := "Memo │ 1\nMemo │ · iteration 2 · m\nMemo │ » two\nMemo │ 2\nMemo │ · iteration 6 · m\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
