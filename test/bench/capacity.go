package main

import "fmt"

// capacity is what a fleet needs for so many investigations of 20 steps an hour, each
// figure the one of a run times their number. It takes the setting with the most at
// once, whose model answers at once: the dearest that was measured.
func (r *report) capacity() table {
	t := table{"capacity", "What so many investigations an hour take (one run's figures, multiplied)",
		[]string{"what", "10 an hour", "1,000 an hour", "100,000 an hour"}, nil}
	var one row
	for _, row := range r.Rows {
		if row.Workload == nameInquest && row.Takes == 0 {
			one = row
		}
	}
	if one.Runs == 0 {
		return t
	}
	const day, gigabyte = 24 * 3600, 1 << 30
	for _, need := range []struct {
		what string
		each float64 // of what one investigation a second takes
	}{
		{"steps a second", float64(short.steps())},
		{"Temporal: state transitions a second", float64(one.Transitions)},
		{"Temporal: CPUs of the server", one.ServerCPU},
		{"Temporal: MB written a second", float64(one.ServerWritten) / (1 << 20)},
		{"Temporal: GB of history a day", float64(one.HistoryBytes) * day / gigabyte},
		{"workers: CPUs", one.WorkerCPU},
		{"workers: GB of memory, if each takes ten minutes", float64(r.Resident) * 600 / gigabyte},
		{"store: CPUs of the database", one.StoreCPU},
		{"store: commits a second", one.StoreCommits},
		{"store: MB written a second", float64(one.StoreWritten) / (1 << 20)},
		{"store: GB it grows a day", float64(one.StoreBytes) * day / gigabyte},
	} {
		cells := []string{need.what}
		for _, hourly := range []float64{10, 1_000, 100_000} {
			cells = append(cells, approximately(need.each*hourly/3600))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

// approximately has two digits.
func approximately(x float64) string {
	switch {
	case x == 0:
		return "–"
	case x < 0.01:
		return "< 0.01"
	case x < 1:
		return fmt.Sprintf("%.2f", x)
	case x < 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}
