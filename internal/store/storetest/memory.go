package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

func memoryTests() map[string]func(*testing.T, opener) {
	return map[string]func(*testing.T, opener){
		"memory tools":                 testMemoryTools,
		"memory is an agent's own":     testMemoryApart,
		"memory blocks of configs":     testSeededBlocks,
		"memory calls are journaled":   testJournal,
		"memory calls are undone":      testJournalUndone,
		"memory calls that fail":       testJournalFaults,
		"memory calls after a reset":   testJournalReset,
		"memory calls by many":         testJournalByMany,
		"memory is searched":           testSearch,
		"memory search takes any text": testAnyQuery,
		"memory search ranks":          testRanks,
		"recall finds messages":        testRecall,
		"recall skips superseded rows": testRecallSuperseded,
		"memory leaves and comes back": testSnapshots,
		"memory refuses broken data":   testRefusedMemory,
		"random memory":                testRandomMemory,
	}
}

// call is a call of a memory tool.
type call struct{ name, arguments string }

func appendTo(label, content string) call {
	return call{agent.ToolCoreMemoryAppend, fmt.Sprintf(`{"label":%q,"content":%q}`, label, content)}
}

func replaceIn(label, old, replacement string) call {
	return call{agent.ToolCoreMemoryReplace, fmt.Sprintf(`{"label":%q,"old_content":%q,"new_content":%q}`, label, old, replacement)}
}

func insert(content string) call {
	return call{agent.ToolArchivalMemoryInsert, fmt.Sprintf(`{"content":%q}`, content)}
}

func searchFor(query string, page int) call {
	return call{agent.ToolArchivalMemorySearch, fmt.Sprintf(`{"query":%q,"page":%d}`, query, page)}
}

func recallOf(query string) call {
	return call{agent.ToolConversationSearch, fmt.Sprintf(`{"query":%q}`, query)}
}

// batch is a reply's calls in a run, with the keys of an iteration.
func batch(by, run string, iteration, calls int) memory.Batch {
	b := memory.Batch{Scope: scope, Writer: writer(run), Agent: by}
	for n := range calls {
		b.Keys = append(b.Keys, transcript.ResultKey(iteration, n))
	}
	return b
}

// perform makes the calls of a batch in the same way as activities.
func perform(ctx context.Context, s Store, b memory.Batch, calls ...call) ([]transcript.Entry, error) {
	return s.Journal(ctx, b, func(tx memory.Tx, n int) (transcript.Body, error) {
		result, err := memory.Call(ctx, tx, calls[n].name, calls[n].arguments)
		return transcript.Body{Text: result.Content, Status: string(result.Status), ErrorType: result.ErrorType}, err
	})
}

// inMemory makes calls for an agent and returns the texts of their results.
func inMemory(t *testing.T, s Store, by string, calls ...call) []string {
	t.Helper()
	var texts []string
	ok(t, s.Remember(t.Context(), by, func(tx memory.Tx) error {
		texts = nil
		for _, c := range calls {
			result, err := memory.Call(t.Context(), tx, c.name, c.arguments)
			if err != nil {
				return err
			}
			texts = append(texts, result.Content)
		}
		return nil
	}))
	return texts
}

func texts(entries []transcript.Entry) (out []string) {
	for _, e := range entries {
		out = append(out, e.Text)
	}
	return out
}

// blocksOf returns the values of an agent's blocks, by label.
func blocksOf(t *testing.T, s Store, by string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, b := range must(s.Blocks(t.Context(), by, nil))(t) {
		out[b.Label] = b.Value
	}
	return out
}

func testMemoryTools(t *testing.T, open opener) {
	s := open()
	readOnly := memory.Block{Label: "system", Value: "be kind", Description: "rules", Limit: 10, ReadOnly: true}
	short := memory.Block{Label: "scratch", Value: "äöü", Limit: 6}
	must(s.Blocks(t.Context(), "bot", []memory.Block{readOnly, short}))(t)
	for _, c := range []struct {
		call
		want string
	}{
		{appendTo("facts", "one"), "Successfully updated memory block 'facts'"},
		{appendTo("facts", "two, one"), "Successfully updated memory block 'facts'"},
		{replaceIn("facts", "one", "ONE"), "Successfully replaced content in memory block 'facts'"},
		{replaceIn("facts", "two, ", ""), "Successfully replaced content in memory block 'facts'"},
		{replaceIn("facts", "three", "x"), "Content 'three' not found in block 'facts'"},
		{replaceIn("human", "x", "y"), "Block 'human' not found"},
		{appendTo("system", "x"), "Block 'system' is read-only"},
		{replaceIn("system", "be", "x"), "Block 'system' is read-only"},
		{appendTo("scratch", "ßß"), "Successfully updated memory block 'scratch'"},
		{appendTo("scratch", ""), "Error: missing required parameter 'content'"},
		{appendTo("scratch", "x"), "Block 'scratch' would have 8 characters, more than its limit of 6"},
		{replaceIn("scratch", "ß", "sss"), "Block 'scratch' would have 10 characters, more than its limit of 6"},
		{insert("The pool was exhausted."), "Successfully inserted into archival memory. Entry ID: 1"},
		{insert("The pool has 20 connections."), "Successfully inserted into archival memory. Entry ID: 2"},
		{searchFor("exhausted pools", 0), "Found 2 results (page 0):\n[1] The pool was exhausted.\n---\n[2] The pool has 20 connections."},
		{searchFor("exhausted pools", 1), "No results found"},
		{recallOf("pool"), "No matching conversations found"},
	} {
		same(t, c.name+c.arguments, inMemory(t, s, "bot", c.call), []string{c.want})
	}
	same(t, "blocks", blocksOf(t, s, "bot"), map[string]string{"facts": "ONE\nONE", "system": "be kind", "scratch": "äöü\nßß"})
}

func testMemoryApart(t *testing.T, open opener) {
	s := open()
	inMemory(t, s, "one", appendTo("facts", "mine"), insert("my secret"))
	inMemory(t, s, "two", insert("your secret"), appendTo("facts", "yours"))
	said(t, s, "one", "our secret")

	same(t, "blocks of one", blocksOf(t, s, "one"), map[string]string{"facts": "mine"})
	same(t, "one's search", inMemory(t, s, "one", searchFor("secret", 0)), []string{"Found 1 results (page 0):\n[1] my secret"})
	same(t, "two's search", inMemory(t, s, "two", searchFor("secret", 0), recallOf("secret")), []string{
		"Found 1 results (page 0):\n[1] your secret", "No matching conversations found",
	})
	for _, by := range []string{"three", "one ", "One", "one'; --"} {
		same(t, "blocks of "+by, blocksOf(t, s, by), map[string]string{})
		same(t, "search of "+by, inMemory(t, s, by, searchFor("secret", 0), recallOf("secret")),
			[]string{"No results found", "No matching conversations found"})
	}
}

func testSeededBlocks(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	rules := memory.Block{Label: "system", Value: "be kind", Limit: 100, ReadOnly: true}
	human := memory.Block{Label: "human", Value: "Ada", Description: "who asks", Limit: 50}
	configured := []memory.Block{rules, human}
	same(t, "first", must(s.Blocks(ctx, "bot", configured))(t), configured)
	inMemory(t, s, "bot", appendTo("human", "likes tea"), appendTo("facts", "x"))

	rules.Value, configured[1].Value = "be kind and\x00quick", "Bob"
	configured[0] = rules
	rules.Value, human.Value = "be kind and\uFFFDquick", "Ada\nlikes tea"
	want := []memory.Block{rules, human, {Label: "facts", Value: "x", Limit: agent.DefaultMemoryLimit}}
	for range 2 {
		same(t, "later", must(s.Blocks(ctx, "bot", configured))(t), want)
	}
	same(t, "by another handle, without a configuration", must(open().Blocks(ctx, "bot", nil))(t), want)
}

func testSnapshots(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	want := memory.Snapshot{Format: memory.Format, Agent: "bot",
		Blocks:   []memory.Block{{Label: "z", Value: "last", Limit: 5}, {Label: "a", Description: "first", Limit: 9, ReadOnly: true}},
		Archival: []memory.Entry{{ID: 3, Content: "three apples", At: at(1).UTC()}, {ID: 9, Content: "nine", At: at(2).UTC()}},
	}
	ok(t, s.ImportMemory(ctx, "bot", want, false))
	same(t, "export", must(s.ExportMemory(ctx, "bot"))(t), want)
	same(t, "search", inMemory(t, s, "bot", searchFor("apple", 0), insert("ten apples")), []string{
		"Found 1 results (page 0):\n[3] three apples", "Successfully inserted into archival memory. Entry ID: 10",
	})
	if err := s.ImportMemory(ctx, "bot", want, false); !errors.Is(err, memory.ErrExists) {
		t.Errorf("import over a memory: %v", err)
	}
	inMemory(t, s, "other", insert("other apples"))
	ok(t, s.ImportMemory(ctx, "bot", want, true))
	same(t, "export after a replacement", must(s.ExportMemory(ctx, "bot"))(t), want)
	same(t, "search after it", inMemory(t, s, "bot", searchFor("apples", 0), insert("more")), []string{
		"Found 1 results (page 0):\n[3] three apples", "Successfully inserted into archival memory. Entry ID: 11",
	})
	same(t, "the other's", inMemory(t, s, "other", searchFor("apples", 0)), []string{"Found 1 results (page 0):\n[1] other apples"})
	if _, err := s.ExportMemory(ctx, "nobody"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("export of nothing: %v", err)
	}
}

func testRefusedMemory(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	inMemory(t, s, "bot", appendTo("facts", "kept"), insert("kept"))
	before := must(s.ExportMemory(ctx, "bot"))(t)
	bad := before
	bad.Archival = append(bad.Archival, memory.Entry{ID: 1, Content: "twice", At: time.Now()})
	if err := s.ImportMemory(ctx, "bot", bad, true); err == nil {
		t.Error("two entries of one id are imported")
	}
	failed := errors.New("failed")
	err := s.Remember(ctx, "bot", func(tx memory.Tx) error {
		return errors.Join(tx.PutBlock(ctx, memory.Block{Label: "facts", Value: "lost", Limit: 9}), failed)
	})
	if !errors.Is(err, failed) {
		t.Errorf("a change that fails: %v", err)
	}
	if err := s.Remember(ctx, "", func(memory.Tx) error { return nil }); err == nil {
		t.Error("a memory without an agent is changed")
	}
	if diff := cmp.Diff(before, must(s.ExportMemory(ctx, "bot"))(t), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("memory after refusals (-before +after):\n%s", diff)
	}
	full := memory.Block{Label: "full", Value: "x", Limit: 1}
	ok(t, s.Remember(ctx, "bot", func(tx memory.Tx) error { return tx.PutBlock(ctx, full) }))
	result := inMemory(t, s, "bot", call{agent.ToolCoreMemoryAppend, `{"label":"full"`}, call{"shell", `{}`})
	same(t, "invalid calls", result,
		[]string{"Error: the arguments are not a JSON object", tool.Failure(tool.ErrorUnknownTool, `Unknown tool "shell".`).Content})
}

// testRandomMemory compares the blocks of two agents with maps, over batches of calls. Half of the batches are sent again.
func testRandomMemory(t *testing.T, open opener) {
	s := open()
	var checks atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		check := &memoryCheck{s: s, ctx: t, n: checks.Add(1), values: map[string]map[string]string{}}
		for range rapid.IntRange(1, 5).Draw(rt, "batches") {
			check.calls(rt)
		}
		check.compare(rt)
	})
}

type memoryCheck struct {
	s         Store
	ctx       *testing.T
	n         int64
	iteration int
	values    map[string]map[string]string // by agent and label
}

const shortLimit = 40 // limit of the blocks, in characters

func (c *memoryCheck) calls(rt *rapid.T) {
	by := fmt.Sprintf("%s-%d", rapid.SampledFrom([]string{"one", "two"}).Draw(rt, "agent"), c.n)
	if c.values[by] == nil {
		c.values[by] = map[string]string{"a": "", "b": ""}
		blocks := []memory.Block{{Label: "a", Limit: shortLimit}, {Label: "b", Limit: shortLimit}}
		if _, err := c.s.Blocks(c.ctx.Context(), by, blocks); err != nil {
			rt.Fatal(err)
		}
	}
	var calls []call
	var want []bool
	text := rapid.StringOfN(rapid.SampledFrom([]rune("xyä'\n")), 1, 6, -1)
	for range rapid.IntRange(1, 4).Draw(rt, "calls") {
		label, content := rapid.SampledFrom([]string{"a", "b", "a-missing"}).Draw(rt, "label"), text.Draw(rt, "content")
		if rapid.Bool().Draw(rt, "replace") {
			replacement := rapid.OneOf(text, rapid.Just("")).Draw(rt, "replacement")
			calls = append(calls, replaceIn(label, content, replacement))
			want = append(want, c.replace(by, label, content, replacement))
		} else {
			label = strings.TrimSuffix(label, "-missing")
			calls = append(calls, appendTo(label, content))
			want = append(want, c.add(by, label, content))
		}
	}
	c.iteration++
	b := batch(by, "r1", c.iteration, len(calls))
	b.Investigation = fmt.Sprintf("inv-%d", c.n)
	for range rapid.IntRange(1, 2).Draw(rt, "attempts") {
		results, err := perform(c.ctx.Context(), c.s, b, calls...)
		if err != nil {
			rt.Fatal(err)
		}
		for i, r := range results {
			if (r.Status == "success") != want[i] {
				rt.Fatalf("%v: %s %q", calls[i], r.Status, r.Text)
			}
		}
	}
}

func (c *memoryCheck) add(by, label, content string) bool {
	value := c.values[by][label]
	if value != "" {
		value += "\n"
	}
	return c.set(by, label, value+content)
}

func (c *memoryCheck) replace(by, label, old, replacement string) bool {
	value, there := c.values[by][label]
	return there && strings.Contains(value, old) && c.set(by, label, strings.Join(strings.Split(value, old), replacement))
}

func (c *memoryCheck) set(by, label, value string) bool {
	if utf8.RuneCountInString(value) > shortLimit {
		return false
	}
	c.values[by][label] = value
	return true
}

func (c *memoryCheck) compare(rt *rapid.T) {
	for by, want := range c.values {
		if diff := cmp.Diff(want, blocksOf(c.ctx, c.s, by)); diff != "" {
			rt.Fatalf("blocks of %s (-want +got):\n%s", by, diff)
		}
	}
}
