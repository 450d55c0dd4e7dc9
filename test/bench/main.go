// Command bench measures the cost of Inquest. It runs investigations of 20 steps, which
// are 10 model calls and 10 tool calls, in alternation with other programs on the same
// Temporal server.
//
//	go run ./test/bench                                    on SQLite, in half an hour
//	go run ./test/bench --store sqlite --store postgres    on both, one after the other
//	go run ./test/bench --check                            fails if a bound is missed
//	go run ./test/bench --docs docs                        puts the tables into the documents
//	go run ./test/bench --quick                            coarser, in about a minute
//	go run ./test/bench --parts short --workloads inquest --cpuprofile FILE
//
// The other programs are the bare shape (the same nested workflows and the same number
// of activities, which do nothing), the bare loop (one workflow with 20 activities
// that do nothing) and the loop by hand (one workflow that makes the same calls and
// carries the conversation through its history). Only compare ratios within one run:
// every number depends on the machine and its other load. All workloads share a worker
// in a separate process. This process runs the model and the tools, and waits for the
// results.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
)

func main() { os.Exit(command.Main(context.Background(), root())) }

// The parts of a measurement, in this order. Memory comes first, because the other parts enlarge the worker's
// memory.
var parts = []part{
	{"resident", runResident},
	{"short", runRounds},
	{"long", runLong},
	{"own", runOwn},
	{"sick", runSick},
}

type part struct {
	name string
	run  func(ctx context.Context, sys *system, o options, result *report) error
}

// options sets how much is measured, and on what.
type options struct {
	stores      []string
	store       string // the one that is measured: a postgres:// the store to measure: a postgres:// address or the path of a SQLite file
	parts       []string
	concurrency []int
	takes       []time.Duration // durations of a model call
	workloads   []string
	rounds      int
	perRound    int           // runs per round: this number times the concurrency …
	atLeast     int           // … but no fewer than this
	residents   int           // investigations that run while the worker's memory is read
	limit       time.Duration // no round starts that would end later
	profile     string
	docs        string
	json        bool
	check       bool
	progress    io.Writer
}

// progressf prints progress.
func (o options) progressf(format string, args ...any) { fmt.Fprintf(o.progress, format+"\n", args...) }

func root() *cobra.Command {
	var o options
	var quick bool
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure investigations beside bare Temporal workflows",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if quick {
				o.rounds, o.perRound, o.atLeast, o.residents = 1, 1, 5, 20
				if !cmd.Flags().Changed("concurrency") {
					o.concurrency = []int{1, 10}
				}
			}
			return bench(cmd, o)
		},
	}
	set := cmd.Flags()
	set.BoolVar(&quick, "quick", false, "one short round: shows that all of it works; its numbers are coarse")
	set.StringArrayVar(&o.stores, "store", []string{aSQLite},
		"sqlite or postgres (new ones of their own), a postgres:// address, or a SQLite file; give it again for another")
	set.StringSliceVar(&o.parts, "parts", partNames(), "what to measure")
	set.IntSliceVar(&o.concurrency, "concurrency", []int{1, 10, 50}, "how many run at the same time")
	set.DurationSliceVar(&o.takes, "model-takes", []time.Duration{0, 300 * time.Millisecond}, "how long the model takes for a reply")
	set.StringSliceVar(&o.workloads, "workloads", workloadNames, "what to run, of 20 steps")
	set.IntVar(&o.rounds, "rounds", 5, "rounds, unless --limit comes first")
	set.IntVar(&o.perRound, "per-round", 2, "runs per workload and round, times the concurrency")
	set.IntVar(&o.atLeast, "at-least", 20, "… but no fewer than this; a quarter of it where the model takes its time")
	set.IntVar(&o.residents, "residents", 200, "investigations that run while the worker's memory is read")
	set.DurationVar(&o.limit, "limit", 30*time.Minute, "no round begins that would end later than this")
	set.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of the worker's process to this file")
	set.StringVar(&o.docs, "docs", "", "put the tables into their places in the documents of this folder")
	set.BoolVar(&o.json, "json", false, "print JSON in place of the tables, an object for each store")
	set.BoolVar(&o.check, "check", false, "fail if a bound is missed")
	cmd.AddCommand(workerCommand())
	return cmd
}

func partNames() (names []string) {
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

// bench measures, prints, and with --check compares with the bounds.
func bench(cmd *cobra.Command, o options) error {
	if err := o.validate(); err != nil {
		return &command.UsageError{Err: err}
	}
	o.progress = cmd.ErrOrStderr()
	var missed []error
	for n := range o.stores {
		o.store = o.stores[n]
		result, err := measureOn(cmd.Context(), o)
		if err != nil {
			return err
		}
		print := result.markdown
		if o.json {
			print = result.json
		}
		if err := print(cmd.OutOrStdout()); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout())
		if o.docs != "" {
			if err := result.fill(o.docs); err != nil {
				return err
			}
		}
		if o.check {
			missed = append(missed, result.check())
		}
	}
	return errors.Join(missed...)
}

// The stores that the benchmark creates.
const (
	aSQLite   = "sqlite"
	aPostgres = "postgres"
)

// measureOn creates the store unless it was given, and measures on it.
func measureOn(ctx context.Context, o options) (*report, error) {
	dir, err := os.MkdirTemp("", "inquest-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	switch o.store {
	case aSQLite:
		o.store = filepath.Join(dir, "bench.db")
	case aPostgres:
		server, err := postgrestest.New("fsync=on")
		if err != nil {
			return nil, err
		}
		defer server.Close()
		if o.store, err = server.Create("bench"); err != nil {
			return nil, err
		}
	}
	return measure(ctx, dir, o)
}

func (o options) validate() error {
	if len(o.concurrency) == 0 || slices.Min(o.concurrency) < 1 {
		return errors.New("--concurrency: use numbers from 1 up")
	}
	if min(o.rounds, o.perRound, o.atLeast, o.residents) < 1 {
		return errors.New("--rounds, --per-round, --at-least, --residents: use numbers from 1 up")
	}
	if o.profile != "" && len(o.stores) > 1 {
		return errors.New("--cpuprofile is of one store: use one --store")
	}
	if o.docs != "" && (len(o.parts) < len(parts) || len(o.workloads) < len(workloadNames)) {
		return errors.New("--docs is for a run of everything: leave out --parts and --workloads")
	}
	if err := oneOf("--workloads", o.workloads, workloadNames); err != nil {
		return err
	}
	return oneOf("--parts", o.parts, partNames())
}

func oneOf(flag string, given, known []string) error {
	for _, name := range given {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s %q: use any of %s", flag, name, strings.Join(known, ", "))
		}
	}
	return nil
}

// measure starts the system under test, measures its parts, and stops it again.
func measure(ctx context.Context, dir string, o options) (result *report, err error) {
	sys, err := start(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sys.stop()) }()
	if _, err := runRound(ctx, sys, 0, setting{concurrency: 1}, 2); err != nil { // warms up
		return nil, err
	}
	result = newReport(o)
	for _, p := range parts {
		if !slices.Contains(o.parts, p.name) {
			continue
		}
		if err := p.run(ctx, sys, o, result); err != nil {
			return nil, err
		}
	}
	result.judge()
	return result, nil
}
