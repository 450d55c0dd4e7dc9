package main

import (
	"fmt"
	"slices"
)

// dearest returns the rows of the setting that capacity is based on: the slowest model, which is called in
// activities as most models are, and of those the highest concurrency.
func (r *report) dearest() (rows map[string]row) {
	at := func(r row) [2]int64 { return [2]int64{int64(r.Takes), int64(r.Concurrency)} }
	var most [2]int64
	for _, row := range r.Rows {
		if here := at(row); slices.Compare(here[:], most[:]) > 0 {
			most = here
		}
	}
	rows = map[string]row{}
	for _, row := range r.Rows {
		if at(row) == most {
			rows[row.Workload] = row
		}
	}
	return rows
}

// step returns the usage of one of the 20 steps.
func (r *report) step() table {
	t := table{"step", "What a step took, with the most at once", []string{"what", nameInquest, nameShape, nameLoop, nameHand}, nil}
	rows := r.dearest()
	if len(rows) == 0 {
		return t
	}
	for _, figure := range []struct {
		what string
		text func(row) string
	}{
		{"CPU of the worker", func(w row) string { return stepTime(w.WorkerCPU) }},
		{"CPU of the Temporal server", func(w row) string { return stepTime(w.ServerCPU) }},
		{"CPU of the database", func(w row) string { return stepTime(w.StoreCPU) }},
		{"state transitions of Temporal", func(w row) string { return number(perStep(float64(w.Transitions))) }},
		{"history", func(w row) string { return sizeText(int64(perStep(float64(w.HistoryBytes)))) }},
		{"written by Temporal, on SQLite", func(w row) string { return sizeText(int64(perStep(float64(w.ServerWritten)))) }},
		{"commits of the store", func(w row) string { return number(perStep(w.StoreCommits)) }},
		{"written by the store", func(w row) string { return sizeText(int64(perStep(float64(w.StoreWritten)))) }},
		{"growth of the store", func(w row) string { return sizeText(int64(perStep(float64(w.StoreBytes)))) }},
	} {
		cells := []string{figure.what}
		for _, name := range t.head[1:] {
			cells = append(cells, figure.text(rows[name]))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

func perStep(ofRun float64) float64 { return ofRun / float64(short.steps()) }

func stepTime(seconds float64) string {
	if seconds == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f ms", perStep(seconds)*1000)
}

// capacity returns the needs of a fleet for various numbers of investigations of 20 steps per hour. Each figure
// is that of one run times the number.
func (r *report) capacity() table {
	t := table{"capacity", "What so many investigations an hour take (one run's figures, multiplied)",
		[]string{"what", "10 an hour", "1,000 an hour", "100,000 an hour"}, nil}
	one, ran := r.dearest()[nameInquest]
	if !ran {
		return t
	}
	const day, gigabyte = 24 * 3600, 1 << 30
	for _, need := range []struct {
		what string
		each float64 // usage of one investigation per second
	}{
		{"steps a second", float64(short.steps())},
		{"Temporal: state transitions a second", float64(one.Transitions)},
		{"Temporal: CPUs of the server", one.ServerCPU},
		{"Temporal: MB written a second, on SQLite", float64(one.ServerWritten) / (1 << 20)},
		{"Temporal: GB of history a day", float64(one.HistoryBytes) * day / gigabyte},
		{"workers: CPUs", one.WorkerCPU},
		{"workers: GB of memory, if each takes ten minutes", float64(r.ResidentAtOnce) * 600 / gigabyte},
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

// approximately rounds to two digits.
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
