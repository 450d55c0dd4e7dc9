package storetest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/memory"
)

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
