package main

import (
	"strings"
	"testing"
	"time"
)

// of makes a batch of runs that each took so long, one after the other.
func of(workload string, each time.Duration) batch {
	return batch{workload: workload, concurrency: 1, n: 2, elapsed: 2 * each, latencies: []time.Duration{each, each}}
}

func TestReport(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	tests := map[string]struct {
		ours, shape []time.Duration // by round
		want        string          // of --check's error; "" = none
		row         string          // of the table
	}{
		"as fast": {
			[]time.Duration{100 * ms, 100 * ms}, []time.Duration{100 * ms, 100 * ms}, "",
			"| 1 | inquest | 4 | 10.00 | 1.00 | 100 ms | 1.00 | 100 ms |",
		},
		"slower": {
			[]time.Duration{200 * ms}, []time.Duration{100 * ms}, "latency is 2.00 of the bare shape's",
			"| 1 | inquest | 2 | 5.00 | 0.50 | 200 ms | 2.00 | 200 ms |",
		},
		// The machine was three times slower in the second round, and once busy in ours.
		"a noisy machine": {
			[]time.Duration{110 * ms, 330 * ms, 900 * ms}, []time.Duration{100 * ms, 300 * ms, 100 * ms}, "",
			"| 1 | inquest | 6 | 3.03 | 0.91 | 330 ms | 1.10 | 330 ms |",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r report
			for i := range test.ours {
				r.add([]batch{of(nameInquest, test.ours[i]), of(nameShape, test.shape[i])})
			}
			var page strings.Builder
			if err := r.markdown(&page); err != nil || !strings.Contains(page.String(), test.row) {
				t.Errorf("want %s in (%v):\n%s", test.row, err, &page)
			}
			err := r.check()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("check: %v, want %q", err, test.want)
			}
		})
	}
}
