package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// A repeated batch gets its stored results and leaves the memory unchanged. A batch that was half done before, by single calls, is
// completed.
func testJournal(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	calls := []call{appendTo("facts", "one"), appendTo("facts", "two"), replaceIn("facts", "absent", "x"), insert("three")}
	first := must(perform(ctx, s, batch("bot", "r1", 1, 1), calls...))(t)
	all := must(perform(ctx, s, batch("bot", "r1", 1, len(calls)), calls...))(t)
	same(t, "the call that was made", all[:1], first)
	same(t, "results", texts(all), []string{
		"Successfully updated memory block 'facts'", "Successfully updated memory block 'facts'",
		"Content 'absent' not found in block 'facts'", "Successfully inserted into archival memory. Entry ID: 1",
	})
	same(t, "statuses", []string{all[1].Status, all[2].Status, all[2].ErrorType}, []string{"success", "error", "ToolError"})
	for i := range 2 {
		second, err := open().Journal(ctx, batch("bot", "r1", 1, len(calls)), func(memory.Tx, int) (transcript.Body, error) {
			return transcript.Body{}, errors.New("made again")
		})
		ok(t, err)
		same(t, fmt.Sprintf("retry %d", i), second, all)
	}
	same(t, "log", gapless(t, s, scope.Investigation), all)
	same(t, "lookup", must(s.Lookup(ctx, scope, transcript.ResultKey(1, 2), writer("r1")))(t), all[2:3])
	same(t, "blocks", blocksOf(t, s, "bot"), map[string]string{"facts": "one\ntwo"})
	same(t, "entries", len(must(s.ExportMemory(ctx, "bot"))(t).Archival), 1)
}

// An error or the end of the context rolls back the whole batch.
func testJournalUndone(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	calls := []call{appendTo("facts", "one"), insert("one"), appendTo("facts", "two")}
	failed := errors.New("failed")
	b := batch("bot", "r1", 1, len(calls))
	_, err := s.Journal(ctx, b, func(tx memory.Tx, n int) (transcript.Body, error) {
		result, err := memory.Call(ctx, tx, calls[n].name, calls[n].arguments)
		if n == 2 {
			err = failed
		}
		return transcript.Body{Text: result.Content}, err
	})
	if !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
	ending, end := context.WithCancel(ctx)
	defer end()
	_, err = s.Journal(ending, b, func(tx memory.Tx, n int) (transcript.Body, error) {
		result, err := memory.Call(ctx, tx, calls[n].name, calls[n].arguments)
		if n == 2 {
			end()
		}
		return transcript.Body{Text: result.Content}, err
	})
	if err == nil {
		t.Error("a batch is written although its context has ended")
	}
	same(t, "log", gapless(t, s, scope.Investigation), []transcript.Entry(nil))
	same(t, "blocks", blocksOf(t, s, "bot"), map[string]string{})
	must(perform(ctx, s, b, calls...))(t)
	same(t, "blocks after another attempt", blocksOf(t, s, "bot"), map[string]string{"facts": "one\ntwo"})
	for name, refused := range map[string]memory.Batch{
		"no keys": {Scope: scope, Writer: writer("r1"), Agent: "bot"},
		"nobody":  batch("", "r1", 2, 1),
		"no run":  batch("bot", "", 2, 1),
		"a key that is another step's second row": {Scope: scope, Writer: writer("r1"), Agent: "bot", Keys: []transcript.Key{key(7, 1)}},
	} {
		mustAppend(t, s, step("r1", row("r1", key(7, 0)), row("r1", key(7, 1))))
		if _, err := perform(ctx, s, refused, calls...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A reset supersedes results, and the new run repeats the calls. The memory is not rolled back: the changes of the first run stay.
func testJournalReset(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	calls := []call{appendTo("facts", "one"), appendTo("facts", "two")}
	must(perform(ctx, s, batch("bot", "r1", 1, 2), calls...))(t)
	must(perform(ctx, s, batch("bot", "r2", 1, 2), calls...))(t)
	same(t, "blocks", blocksOf(t, s, "bot"), map[string]string{"facts": "one\ntwo\none\ntwo"})
	if _, err := perform(ctx, s, batch("bot", "r1", 2, 2), calls...); !errors.Is(err, store.ErrStaleRun) {
		t.Errorf("calls of the run before: %v", err)
	}
	var live []string
	for _, e := range must(s.Entries(ctx, scope))(t) {
		live = append(live, e.Writer.RunID)
	}
	same(t, "runs of the results", live, []string{"r2", "r2"})
}

// Many executions write to one block, through two handles and with every batch sent twice at the same time. They lose nothing and
// write nothing twice.
func testJournalByMany(t *testing.T, open opener) {
	handles := []Store{open(), open()}
	together(func(n int) {
		b := batch("bot", "r1", 1, 3)
		b.Investigation, b.Execution = fmt.Sprintf("inv-%d", n/4), fmt.Sprintf("stage/agent-%d", n/2)
		var calls []call
		for i := range b.Keys {
			calls = append(calls, appendTo("facts", fmt.Sprintf("<%d.%d>", n/2, i)))
		}
		if _, err := perform(t.Context(), handles[n%2], b, calls...); err != nil {
			t.Errorf("goroutine %d: %v", n, err)
		}
	})
	value := blocksOf(t, handles[0], "bot")["facts"]
	for n := range goroutines / 2 {
		if whole := fmt.Sprintf("<%d.0>\n<%d.1>\n<%d.2>", n, n, n); strings.Count(value, whole) != 1 {
			t.Errorf("the block has not exactly one %q:\n%s", whole, value)
		}
	}
	same(t, "lines", strings.Count(value, "\n")+1, goroutines/2*3)
}

// faulty fails to write blocks, depending on the call and never at random.
type faulty struct {
	memory.Tx
	fails bool
}

var errFault = errors.New("the disk is full")

func (f faulty) PutBlock(ctx context.Context, b memory.Block) error {
	if f.fails {
		return errFault
	}
	return f.Tx.PutBlock(ctx, b)
}

// A call makes one change, as its last action. So a run that turns the change's error into a result leaves nothing half done, and
// the other calls of the batch stay.
func testJournalFaults(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	const calls = 20
	results := must(s.Journal(ctx, batch("bot", "r1", 1, calls), func(tx memory.Tx, n int) (transcript.Body, error) {
		c := appendTo("facts", fmt.Sprintf("<%d>", n))
		result, err := memory.Call(ctx, faulty{tx, n%3 == 1}, c.name, c.arguments)
		if errors.Is(err, errFault) {
			return transcript.Body{Text: err.Error(), Status: "error"}, nil
		}
		return transcript.Body{Text: result.Content, Status: string(result.Status)}, err
	}))(t)
	value := blocksOf(t, s, "bot")["facts"]
	failed := 0
	for n, r := range results {
		if r.Status == "error" {
			failed++
		}
		if there := strings.Contains(value, fmt.Sprintf("<%d>", n)); there != (r.Status == "success") {
			t.Errorf("call %d: %s, and is the line there: %t", n, r.Status, there)
		}
	}
	same(t, "failed calls, of all", []int{failed, len(results)}, []int{7, calls})
}
