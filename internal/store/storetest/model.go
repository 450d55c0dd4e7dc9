package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// model is a simple model of the store's behaviour for one execution.
type model struct {
	runs []string // in the order in which they first appeared
	log  []modelRow
}

type modelRow struct {
	brief
	step int64 // seq of its first row
}

// claim is the common part of lookup and append.
func (m *model) claim(run string, k transcript.Key) error {
	if !slices.Contains(m.runs, run) {
		m.runs = append(m.runs, run)
	}
	if m.runs[len(m.runs)-1] != run {
		return store.ErrStaleRun
	}
	for i := range m.log {
		r := &m.log[i]
		after := r.Key.Iteration > k.Iteration || r.Key.Iteration == k.Iteration && r.Key.Position >= k.Position && r.Key.Position < k.Until()
		if r.Run != run && after {
			r.Superseded = true
		}
	}
	return nil
}

func (m *model) at(k transcript.Key) *modelRow {
	for i := range m.log {
		if m.log[i].Key == k && !m.log[i].Superseded {
			return &m.log[i]
		}
	}
	return nil
}

func (m *model) lookup(run string, k transcript.Key) ([]brief, error) {
	if err := m.claim(run, k); err != nil {
		return nil, err
	}
	first := m.at(k)
	if first == nil || first.step != first.Seq {
		return nil, nil
	}
	var found []brief
	for _, r := range m.log {
		if r.step == first.step && !r.Superseded {
			found = append(found, r.brief)
		}
	}
	return found, nil
}

func (m *model) append(run string, keys []transcript.Key) ([]brief, error) {
	before := model{slices.Clone(m.runs), slices.Clone(m.log)}
	found, err := m.lookup(run, keys[0])
	if err != nil || found != nil {
		return found, err
	}
	first := int64(len(m.log)) + 1
	for i, k := range keys {
		if m.at(k) != nil {
			*m = before
			return nil, store.ErrConflict
		}
		m.log = append(m.log, modelRow{brief{first + int64(i), k, run, false}, first})
		found = append(found, m.log[len(m.log)-1].brief)
	}
	return found, nil
}

func compare(a, b transcript.Key) int {
	if a.Iteration != b.Iteration {
		return a.Iteration - b.Iteration
	}
	return a.Position - b.Position
}

// testRandomRuns compares the store with the model. Runs look up and append, are replaced, and come back although they must not.
func testRandomRuns(t *testing.T, open opener) {
	s := open()
	var checks atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		check := &modelCheck{s: s, ctx: t}
		check.scope = transcript.Scope{Investigation: fmt.Sprintf("inv-%d", checks.Add(1)), Execution: "e"}
		rt.Repeat(map[string]func(*rapid.T){
			"lookup": check.lookup,
			"reply":  check.lookupReply,
			"append": check.append,
			"reset":  func(*rapid.T) { check.current++ },
			"":       check.compare,
		})
	})
}

type modelCheck struct {
	model
	s       Store
	ctx     *testing.T
	scope   transcript.Scope
	current int // number of the newest run
}

// run is the newest run, or sometimes an earlier one.
func (c *modelCheck) run(rt *rapid.T) string {
	back := rapid.SampledFrom([]int{0, 0, 0, 0, 1}).Draw(rt, "back")
	return fmt.Sprintf("r%d", max(0, c.current-back))
}

func drawKey(rt *rapid.T) transcript.Key {
	return key(rapid.IntRange(1, 4).Draw(rt, "iteration"), rapid.IntRange(0, 2).Draw(rt, "position"))
}

func (c *modelCheck) lookup(rt *rapid.T) {
	run, k := c.run(rt), drawKey(rt)
	want, wantErr := c.model.lookup(run, k)
	got, err := c.s.Lookup(c.ctx.Context(), c.scope, k, writer(run))
	c.agree(rt, got, err, want, wantErr)
}

func (c *modelCheck) lookupReply(rt *rapid.T) {
	run, iteration := c.run(rt), rapid.IntRange(1, 4).Draw(rt, "iteration")
	want, wantErr := c.model.lookup(run, key(iteration, 0))
	got, err := c.s.LookupReply(c.ctx.Context(), c.scope, iteration, writer(run))
	c.agree(rt, got.Step, err, want, wantErr)
	if diff := cmp.Diff(c.good(), briefs(got.Log), cmpopts.EquateEmpty()); err == nil && diff != "" {
		rt.Fatalf("log (-want +got):\n%s", diff)
	}
}

func (c *modelCheck) append(rt *rapid.T) {
	run, keys := c.run(rt), rapid.SliceOfNDistinct(rapid.Custom(drawKey), 1, 3, rapid.ID).Draw(rt, "keys")
	slices.SortFunc(keys, compare)
	mine := transcript.Step{Scope: c.scope, Writer: writer(run)}
	for _, k := range keys {
		mine.Rows = append(mine.Rows, row(run, k))
	}
	want, wantErr := c.model.append(run, keys)
	got, err := c.s.Append(c.ctx.Context(), mine)
	c.agree(rt, got, err, want, wantErr)
}

func (c *modelCheck) agree(rt *rapid.T, got []transcript.Entry, err error, want []brief, wantErr error) {
	if !errors.Is(err, wantErr) || (wantErr == nil) != (err == nil) {
		rt.Fatalf("error %v, want %v", err, wantErr)
	}
	if diff := cmp.Diff(want, briefs(got)); diff != "" {
		rt.Fatalf("rows (-want +got):\n%s", diff)
	}
}

// compare checks the whole log and the part that is not superseded.
func (c *modelCheck) compare(rt *rapid.T) {
	all, err := c.s.After(c.ctx.Context(), c.scope.Investigation, 0, 0)
	good, goodErr := c.s.Entries(c.ctx.Context(), c.scope)
	if err := errors.Join(err, goodErr); err != nil {
		rt.Fatal(err)
	}
	var wantAll []brief
	for _, r := range c.log {
		wantAll = append(wantAll, r.brief)
	}
	if diff := cmp.Diff([][]brief{wantAll, c.good()}, [][]brief{briefs(all), briefs(good)}, cmpopts.EquateEmpty()); diff != "" {
		rt.Fatalf("log and entries (-want +got):\n%s", diff)
	}
}

// good returns the rows that are not superseded, in key order.
func (m *model) good() (good []brief) {
	for _, r := range m.log {
		if !r.Superseded {
			good = append(good, r.brief)
		}
	}
	slices.SortFunc(good, func(a, b brief) int { return compare(a.Key, b.Key) })
	return good
}
