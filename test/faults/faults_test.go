// Package faults proves what agents of each type do when things go wrong: the
// fault matrix of the specification (agents, "Fault matrix"). The workflows, the
// activities and the store are the real ones; what fails is put between them, by
// hashes of a seed, so that a seed is one run, always the same. Besides, at every kind
// of point of one run, attempts stand still until others have done their work
// (TestStragglers), and parts of the world are away for a while (TestOutages).
//
//	make faults SEED=42     that run, printed
//	go test ./test/faults   a hundred of them, and each row of the matrix by itself
//	make faults             a thousand, and every stall and outage at every point
package faults

import (
	"flag"
	"fmt"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/storetest"
)

var (
	oneSeed = flag.Int64("seed", -1, "run this seed alone, and print it")
	seeds   = flag.Int("seeds", 100, "how many seeds are run")
	every   = flag.Bool("every", false, "stalls and outages of every kind at every point, not one at each")
)

// cast determines the scenario of a seed: a type, the agents that work in parallel, and the faults.
func cast(s *store.Store, id string, seed uint64) *run {
	rows := agent.Types()
	r := newRun(s, id, seed, profiles[seed/uint64(len(rows))%uint64(len(profiles))])
	subject := rows[seed%uint64(len(rows))]
	r.talking = subject.Pattern.Model() && chance(0.25, seed, "talking")
	workers := []worker{newWorker(subject, "A", id)}
	for n := range pick(3, seed, "companions") {
		if !r.talking {
			workers = append(workers, newWorker(rows[pick(len(rows), seed, "companion", n)], string(rune('B'+n)), id))
		}
	}
	for n := range workers {
		if chance(0.2, seed, "shell", n) {
			workers[n].shell()
		}
		if chance(0.2, seed, "reads only", n) {
			workers[n].plan.Tools.Access = plan.AccessRead
		}
	}
	r.employ(workers...)
	return r
}

func TestSeeds(t *testing.T) {
	t.Parallel()
	if *oneSeed >= 0 {
		printRun(t, uint64(*oneSeed))
		return
	}
	const shards = 8
	for shard := range shards {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t)
			for seed := shard; seed < *seeds; seed += shards {
				r := cast(s, fmt.Sprintf("seed-%d", seed), uint64(seed))
				r.play()
				for _, problem := range r.check(t.Context()) {
					t.Errorf("%s\n(make faults SEED=%d)", r.normal(problem), seed)
				}
			}
		})
	}
}

// printRun runs a seed and prints what happened.
func printRun(t *testing.T, seed uint64) {
	r := cast(storetest.Open(t), "run", seed)
	fmt.Printf("seed %d: %s, a conversation: %t\n", seed, r.profile.name, r.talking)
	for _, name := range r.executions() {
		fmt.Printf("  %s\n", r.agents[name].describe())
	}
	r.play()
	fmt.Printf("\nwhat went wrong:\n%s\nwhat the workflows decided:\n%s\n", r.log(), r.decided())
	entries, err := r.store.After(t.Context(), r.investigation(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		fmt.Printf("%3d %s %d/%d %s %s %s %.200q\n", e.Seq, e.Execution, e.Iteration, e.Position, e.Kind, e.Status, e.ErrorType, e.Text)
	}
	for _, problem := range r.check(t.Context()) {
		t.Error(problem)
	}
}
