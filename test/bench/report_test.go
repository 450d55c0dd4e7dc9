package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

const ms = time.Millisecond

// of makes a batch of consecutive runs with the given duration.
func of(workload string, each time.Duration) batch {
	return batch{workload: workload, setting: setting{concurrency: 1}, n: 2, elapsed: 2 * each, latencies: []time.Duration{each, each}}
}

func TestReport(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		ours, shape []time.Duration // by round; the loop by hand always takes 100 ms
		missed      string          // text of --check's error; empty means no error
		row         string          // a row of the table, without padding
	}{
		"faster": {
			[]time.Duration{50 * ms, 50 * ms}, []time.Duration{100 * ms, 100 * ms}, "",
			"| 1 | at once | inquest | 4 | 20.00 | 2.00 | 2.00 | 50 ms | 0.50 | 50 ms |",
		},
		"slower than the shape": {
			[]time.Duration{100 * ms}, []time.Duration{100 * ms}, "latency ÷ bare shape's, 1 at a time: 1.00, want ≤ 0.850",
			"| 1 | at once | inquest | 2 | 10.00 | 1.00 | 1.00 | 100 ms | 1.00 | 100 ms |",
		},
		"slower than by hand": {
			[]time.Duration{200 * ms}, []time.Duration{300 * ms}, "throughput ÷ by hand, 1 at a time: 0.500, want ≥ 0.850",
			"| 1 | at once | inquest | 2 | 5.00 | 1.50 | 0.50 | 200 ms | 0.67 | 200 ms |",
		},
		// The machine was three times slower in the second round, and once busy during our runs.
		"a noisy machine": {
			[]time.Duration{60 * ms, 180 * ms, 900 * ms}, []time.Duration{100 * ms, 300 * ms, 100 * ms},
			"throughput ÷ by hand, 1 at a time: 0.556, want ≥ 0.850",
			"| 1 | at once | inquest | 6 | 5.56 | 1.67 | 0.56 | 180 ms | 0.60 | 180 ms |",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r report
			for i := range test.ours {
				r.add([]batch{of(nameInquest, test.ours[i]), of(nameShape, test.shape[i]), of(nameHand, 100*ms)})
			}
			r.judge()
			if text := strings.Join(strings.Fields(r.speed().String()), " "); !strings.Contains(text, test.row) {
				t.Errorf("want %s in:\n%s", test.row, r.speed())
			}
			err := r.check()
			if (err == nil) != (test.missed == "") || err != nil && !strings.Contains(err.Error(), test.missed) {
				t.Errorf("check: %v, want %q", err, test.missed)
			}
		})
	}
}

// whole returns a report of everything, on a store that meets all bounds.
func whole() *report {
	r := &report{
		Machine: "2 CPUs", Store: "PostgreSQL", OwnSteps: 2000, OwnRatio: 0.5, SickRatio: 1.05,
		Resident: 100 << 10, ResidentAtOnce: 150 << 10, Residents: 200,
		Long: []longRun{
			{Workload: nameInquest, Calls: 101, Of: 101, Seconds: 3.1, RateRatio: 2, Events: 900, IterationEvents: 8, IterationBytes: 2048},
			{Workload: nameHand, Calls: 97, Of: 101, Seconds: 6.2, Events: 1200, Bytes: 50 << 20, Ended: true},
		},
	}
	for _, concurrency := range []int{1, 10, 50} {
		ours, shape, hand := of(nameInquest, 50*ms), of(nameShape, 100*ms), of(nameHand, 50*ms)
		ours.concurrency, shape.concurrency, hand.concurrency = concurrency, concurrency, concurrency
		ours.weights = weights{weight{96 << 20, 200 * ms, 0, 0}, weight{500 << 20, 600 * ms, 4 << 20, 0}, weight{0, 100 * ms, 1 << 20, 90}}
		ours.history, ours.stored = size{109, 24 << 10, 140}, 60<<10
		r.add([]batch{ours, shape, hand})
	}
	r.judge()
	return r
}

func TestEveryBoundHasAFigure(t *testing.T) {
	t.Parallel()
	r := whole()
	if err := r.check(); err != nil || len(r.Bounds) != 3*3+4+3 {
		t.Errorf("%d bounds, %v", len(r.Bounds), err)
	}
	for n := range r.Bounds {
		b := &r.Bounds[n]
		figure := b.Figure
		b.Figure = b.Limit / 2
		if b.AtMost {
			b.Figure = b.Limit * 2
		}
		if err := r.check(); err == nil || !strings.Contains(err.Error(), b.What) {
			t.Errorf("%s is not missed at %v: %v", b.What, b.Figure, err)
		}
		b.Figure = figure
	}
}

// Tables fit a terminal, and the usage of one investigation is multiplied.
func TestTables(t *testing.T) {
	t.Parallel()
	r := whole()
	var page strings.Builder
	if err := r.markdown(&page); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(page.String()) {
		if n := utf8.RuneCountInString(line); n > 140 {
			t.Errorf("a line of %d characters: %s", n, line)
		}
	}
	text := strings.Join(strings.Fields(page.String()), " ")
	for _, want := range []string{
		"| by hand | 97 of 101 | 6.2 | – | 1200 | 50 MB | – | ended it |",
		"| CPU of the Temporal server | 15.0 ms | – | – | – |",
		"| steps a second | 0.06 | 5.6 | 556 |",
		"| Temporal: CPUs of the server | < 0.01 | 0.08 | 8.3 |",
		"| workers: GB of memory, if each takes ten minutes | < 0.01 | 0.02 | 2.4 |",
		"| store: commits a second | 0.12 | 12 | 1250 |",
		"| built-in steps a second ÷ rows, 50 at a time | 0.500 | ≥ 0.100 | ok |",
		"| duration beside a sick conversation ÷ without it, 20 at a time | 1.05 | ≤ 1.10 | ok |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %s in:\n%s", want, &page)
		}
	}
}

// A bound without a measurement is neither met nor missed.
func TestNoBounds(t *testing.T) {
	t.Parallel()
	r := report{Store: "SQLite", Residents: 200} // other systems than Linux do not report memory
	r.judge()
	if err := r.check(); err == nil || !strings.Contains(err.Error(), "SQLite: no bound was measured") {
		t.Errorf("bounds %v, check: %v", r.Bounds, err)
	}
}

func TestFillIn(t *testing.T) {
	t.Parallel()
	const other = "<!-- bench SQLite alone -->\nof another store\n<!-- /bench -->\n"
	got := whole().fillIn("before\n<!-- bench PostgreSQL alone -->\nold\n<!-- /bench -->\nbetween\n" + other)
	want := "before\n<!-- bench PostgreSQL alone -->\n2 CPUs · store: PostgreSQL\n\n" + whole().alone().String() +
		"<!-- /bench -->\nbetween\n" + other
	if got != want {
		t.Errorf("got:\n%s", got)
	}
}
