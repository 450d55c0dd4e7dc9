package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/tool"
)

// testToolTimes: the measurements of concurrent workers add up.
func testToolTimes(t *testing.T, open opener) {
	workers := []Store{open(), open()}
	if got := must(workers[0].ToolTimes(t.Context(), "lab.read"))(t); got != (tool.Times{}) {
		t.Errorf("of a tool that nobody has called: %v", got)
	}
	var want tool.Times
	for n := range 6 {
		var seen tool.Times
		seen.Add(time.Duration(n) * 100 * time.Millisecond)
		want.Add(time.Duration(n) * 100 * time.Millisecond)
		got := must(workers[n%2].AddToolTimes(t.Context(), "lab.read", seen, 1))(t)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after call %d (-want +got):\n%s", n, diff)
		}
	}
	if diff := cmp.Diff(want, must(workers[1].ToolTimes(t.Context(), "lab.read"))(t)); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	slow, ten := tool.Times{}, tool.Times{6.5}
	slow.Add(time.Minute)
	must(workers[0].AddToolTimes(t.Context(), "lab.once", slow, 1))(t)
	for n := range 1000 { // the weight of the slow call becomes too small for a float
		if _, err := workers[0].AddToolTimes(t.Context(), "lab.once", ten, 10); err != nil {
			t.Fatalf("after %d quick calls: %v", 10*n, err)
		}
	}
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			if _, err := workers[n%2].AddToolTimes(t.Context(), "lab.set", tool.Times{1}, 0); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := must(workers[0].ToolTimes(t.Context(), "lab.set"))(t); got != (tool.Times{20}) {
		t.Errorf("of twenty at once: %v", got)
	}
}
