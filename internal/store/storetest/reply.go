package storetest

import (
	"errors"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// The reply of an iteration is the one that counts, whichever run it is of.
func testReply(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	none := func(iteration int) {
		t.Helper()
		if _, err := s.Reply(ctx, scope, iteration); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("reply %d: %v, want ErrNotFound", iteration, err)
		}
	}
	none(1)
	first := mustAppend(t, s, step("r1", row("r1", key(1, 0)), reply("r1", key(1, 1), agent.Usage{})))
	mustAppend(t, s, step("r1", row("r1", transcript.CallKey(1, 0))))
	mustAppend(t, s, step("r1", reply("r1", key(2, 0), agent.Usage{})))
	same(t, "reply", must(s.Reply(ctx, scope, 1))(t), first[1])

	again := mustAppend(t, s, step("r2", reply("r2", key(2, 0), agent.Usage{})))
	same(t, "reply of the run before", must(s.Reply(ctx, scope, 1))(t), first[1])
	same(t, "reply after a reset", must(s.Reply(ctx, scope, 2))(t), again[0])
	none(3)
}

func testSize(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	before := must(s.Size(ctx))(t)
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(i * i >> 3) // not to be compressed away
	}
	must(s.PutBlob(ctx, data))(t)
	if after := must(s.Size(ctx))(t); before <= 0 || after <= before {
		t.Errorf("the size was %d bytes, and is %d with a blob more", before, after)
	}
}
