package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Reply returns the reply that is not superseded, of any run.
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
		data[i] = byte(i * i >> 3) // so that it does not compress
	}
	must(s.PutBlob(ctx, data))(t)
	if after := must(s.Size(ctx))(t); before <= 0 || after <= before {
		t.Errorf("the size was %d bytes, and is %d with a blob more", before, after)
	}
}

// LookupCall finds the reply and the rows that the run has written of one call. It treats other runs like a Lookup of the intent.
func testLookupCall(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	const n = 1
	intent, result := transcript.CallKey(1, n), transcript.ResultKey(1, n)
	call := func(run string) transcript.Known { return must(s.LookupCall(ctx, scope, 1, n, writer(run)))(t) }
	same(t, "nothing", call("r1"), transcript.Known{})

	asked := mustAppend(t, s, step("r1", row("r1", key(1, 0)), reply("r1", key(1, 1), agent.Usage{})))[1:]
	steps(t, s, "r1", transcript.CallKey(1, n-1), transcript.ResultKey(1, n-1), transcript.ResultKey(1, n+1))
	mustAppend(t, s, step("r1", reply("r1", key(2, 0), agent.Usage{})))
	same(t, "the reply", call("r1"), transcript.Known{Log: asked})
	begun := append(asked, mustAppend(t, s, step("r1", row("r1", intent)))...)
	same(t, "begun", call("r1"), transcript.Known{Log: begun})
	done := mustAppend(t, s, step("r1", row("r1", result)))
	same(t, "done", call("r1"), transcript.Known{Step: done, Log: append(begun, done...)})

	same(t, "after a reset", call("r2"), transcript.Known{Log: asked})
	same(t, "log after a reset", briefs(must(s.Entries(ctx, scope))(t)), []brief{
		{1, key(1, 0), "r1", false}, {2, key(1, 1), "r1", false},
		{3, transcript.CallKey(1, n-1), "r1", false}, {4, transcript.ResultKey(1, n-1), "r1", false},
		{5, transcript.ResultKey(1, n+1), "r1", false},
	})
	if _, err := s.LookupCall(ctx, scope, 1, n, writer("r1")); !errors.Is(err, store.ErrStaleRun) {
		t.Errorf("lookup by the old run: %v", err)
	}
	if _, err := s.LookupCall(ctx, scope, 1, n, transcript.Writer{}); err == nil {
		t.Error("no run is given, and that is no error")
	}
	same(t, "done again", mustAppend(t, s, step("r2", row("r2", result))), call("r2").Step)
}

// LookupReply finds the step of an iteration, or the log, and the catalogues of the execution's servers.
func testLookupReply(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	ok(t, s.SaveCatalogue(ctx, scope, tool.Catalogue{Server: "k8s"}))
	ok(t, s.SaveCatalogue(ctx, scope, tool.Catalogue{Server: "aws"}))
	offered := must(s.Catalogues(ctx, scope))(t)
	known := func(run string, iteration int) transcript.Known {
		return must(s.LookupReply(ctx, scope, iteration, writer(run)))(t)
	}
	same(t, "nothing", known("r1", 1), transcript.Known{Catalogues: offered})
	first := mustAppend(t, s, step("r1", row("r1", key(1, 0)), reply("r1", key(1, 1), agent.Usage{})))
	same(t, "the log", known("r1", 2), transcript.Known{Log: first, Catalogues: offered})
	same(t, "the step", known("r1", 1), transcript.Known{Step: first, Log: first, Catalogues: offered})
	second := mustAppend(t, s, step("r1", reply("r1", key(2, 0), agent.Usage{})))
	same(t, "the second step", known("r1", 2), transcript.Known{Step: second, Log: append(first, second...), Catalogues: offered})

	same(t, "after a reset", known("r2", 2), transcript.Known{Log: first, Catalogues: offered})
	same(t, "after a reset to the beginning", known("r3", 1), transcript.Known{Catalogues: offered})
	if _, err := s.LookupReply(ctx, scope, 3, writer("r2")); !errors.Is(err, store.ErrStaleRun) {
		t.Errorf("lookup by the old run: %v", err)
	}

	other := open() // as if in another process, so the first handle has not seen its writes
	log := mustAppend(t, other, step("r3", reply("r3", key(1, 0), agent.Usage{})))
	same(t, "the other's step", known("r3", 2), transcript.Known{Log: log, Catalogues: offered})
	log = append(log, mustAppend(t, other, step("r3", row("r3", transcript.ResultKey(1, 1))))...)
	early := mustAppend(t, other, step("r3", row("r3", transcript.ResultKey(1, 0)))) // it ended later
	log = slices.Insert(log, 1, early...)
	same(t, "the other's calls", known("r3", 2), transcript.Known{Log: log, Catalogues: offered})
	same(t, "the same for all", must(s.Entries(ctx, scope))(t), log)
	must(other.LookupReply(ctx, scope, 1, writer("r4")))(t)
	again := mustAppend(t, other, step("r4", reply("r4", key(1, 0), agent.Usage{})))
	same(t, "the other's reset", must(s.Entries(ctx, scope))(t), again)
	same(t, "after it", known("r4", 2), transcript.Known{Log: again, Catalogues: offered})
}
