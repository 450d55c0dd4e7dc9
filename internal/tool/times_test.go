package tool_test

import (
	"slices"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/tool"
)

func TestTimes(t *testing.T) {
	t.Parallel()
	const quick, slow = 5 * time.Millisecond, 30 * time.Second
	calls := func(n int, took time.Duration) []time.Duration { return slices.Repeat([]time.Duration{took}, n) }
	for name, tt := range map[string]struct {
		took  []time.Duration
		limit time.Duration
		want  bool
	}{
		"nothing is known":           {nil, time.Second, false},
		"three calls are too few":    {calls(3, quick), time.Second, false},
		"four are enough":            {calls(4, quick), time.Second, true},
		"a slow one after twenty":    {append(calls(20, quick), slow), time.Second, false},
		"seven quick ones later":     {slices.Concat(calls(20, quick), calls(1, slow), calls(7, quick)), time.Second, false},
		"eight":                      {slices.Concat(calls(20, quick), calls(1, slow), calls(8, quick)), time.Second, true},
		"as long as the limit":       {calls(20, 500*time.Millisecond), 500 * time.Millisecond, true},
		"a little longer":            {calls(20, 501*time.Millisecond), 500 * time.Millisecond, false},
		"a limit between two bounds": {calls(20, 250*time.Millisecond), 300 * time.Millisecond, false},
		"slower than all bounds":     {calls(20, time.Hour), 24 * time.Hour, false},
		"no limit":                   {calls(20, quick), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var times tool.Times
			for _, took := range tt.took {
				times.Add(took)
			}
			if got := times.Within(tt.limit); got != tt.want {
				t.Errorf("%t, want %t: %v", got, tt.want, times)
			}
		})
	}
}

// TestTimesTogether checks that observations of several workers add up to those of one.
func TestTimesTogether(t *testing.T) {
	t.Parallel()
	var one, first, later tool.Times
	for n := range 10 {
		took := time.Duration(n) * 100 * time.Millisecond
		one.Add(took)
		if n < 6 {
			first.Add(took)
		} else {
			later.Add(took)
		}
	}
	for n, calls := range first.Then(later, 4) {
		if diff := calls - one[n]; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("%d: %f, want %f", n, calls, one[n])
		}
	}
}
