// Command bench measures what Inquest costs: investigations of 20 steps, which
// are 10 model calls and 10 tool calls that are answered at once, beside two
// baselines on the same Temporal server, in turns with them.
//
//	go run ./test/bench                                    on SQLite, in eight minutes
//	go run ./test/bench --store sqlite --store postgres    on both, one after the other
//	go run ./test/bench --quick                            coarser, in less than one minute
//
// The baselines are the bare shape (the same nested workflows and the same
// number of activities, which do nothing) and the bare loop (one workflow with
// 20 activities that do nothing). Only ratios of one run mean something: the
// machine, and whatever else it does, is part of every number. This process is
// the worker of all three; it also holds the model server and the tool server,
// whose work therefore counts against Inquest.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
)

func main() { os.Exit(command.Main(root())) }

// options say how much is measured, and on what.
type options struct {
	stores      []string
	store       string // the one that is measured: a postgres:// address or the path of a SQLite file
	concurrency []int
	workloads   []string
	rounds      int
	perRound    int           // investigations per round: as many as this times the concurrency …
	atLeast     int           // … but no fewer than this
	limit       time.Duration // no round begins that would end later
	profile     string
	json        bool
	check       bool
}

func root() *cobra.Command {
	var o options
	var quick bool
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure investigations beside bare Temporal workflows",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if quick {
				o.rounds, o.perRound, o.atLeast = 1, 1, 5
				if !cmd.Flags().Changed("concurrency") {
					o.concurrency = []int{1, 10}
				}
			}
			return bench(cmd, o)
		},
	}
	set := cmd.Flags()
	set.BoolVar(&quick, "quick", false, "one short round: shows that all of it works; its numbers are coarse")
	set.StringArrayVar(&o.stores, "store", []string{aSQLite}, "sqlite or postgres (new ones of their own), a postgres:// address, or a SQLite file; give it again for another")
	set.IntSliceVar(&o.concurrency, "concurrency", []int{1, 10, 50}, "how many run at the same time")
	set.StringSliceVar(&o.workloads, "workloads", []string{nameInquest, nameShape, nameLoop}, "what to run")
	set.IntVar(&o.rounds, "rounds", 6, "rounds per concurrency, unless --limit comes first")
	set.IntVar(&o.perRound, "per-round", 2, "runs per workload and round, times the concurrency")
	set.IntVar(&o.atLeast, "at-least", 20, "… but no fewer than this")
	set.DurationVar(&o.limit, "limit", 8*time.Minute, "no round begins that would end later than this")
	set.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of the worker's process to this file")
	set.BoolVar(&o.json, "json", false, "print JSON in place of the table, an object for each store")
	set.BoolVar(&o.check, "check", false, "fail if Inquest is slower than its bounds allow")
	return cmd
}

// bench measures, prints, and with --check judges.
func bench(cmd *cobra.Command, o options) error {
	if err := o.validate(); err != nil {
		return &command.UsageError{Err: err}
	}
	var slow []error
	for n := range o.stores {
		o.store = o.stores[n]
		result, err := measureOn(cmd.Context(), o, cmd.ErrOrStderr())
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
		if o.check {
			slow = append(slow, result.check())
		}
	}
	return errors.Join(slow...)
}

// The stores that the benchmark makes itself.
const (
	aSQLite   = "sqlite"
	aPostgres = "postgres"
)

// measureOn makes the store if it is not somebody else's, and measures on it.
func measureOn(ctx context.Context, o options, progress io.Writer) (result report, err error) {
	dir, err := os.MkdirTemp("", "inquest-bench")
	if err != nil {
		return result, err
	}
	defer os.RemoveAll(dir)
	switch o.store {
	case aSQLite:
		o.store = filepath.Join(dir, "bench.db")
	case aPostgres:
		server, err := postgrestest.New("fsync=on")
		if err != nil {
			return result, err
		}
		defer server.Close()
		if o.store, err = server.Create("bench"); err != nil {
			return result, err
		}
	}
	return measure(ctx, dir, o, progress)
}

func (o options) validate() error {
	if len(o.concurrency) == 0 || slices.Min(o.concurrency) < 1 {
		return errors.New("--concurrency: use numbers from 1 up")
	}
	if o.rounds < 1 || o.perRound < 1 || o.atLeast < 1 {
		return errors.New("--rounds, --per-round, --at-least: use numbers from 1 up")
	}
	if o.profile != "" && len(o.stores) > 1 {
		return errors.New("--cpuprofile is of one store: use one --store")
	}
	for _, name := range o.workloads {
		if name != nameInquest && name != nameShape && name != nameLoop {
			return fmt.Errorf("--workloads %q: use %s, %s and %s", name, nameInquest, nameShape, nameLoop)
		}
	}
	return nil
}

// measure starts the system under test, runs the rounds, and stops it again.
func measure(ctx context.Context, dir string, o options, progress io.Writer) (result report, err error) {
	sys, err := start(ctx, dir, o)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, sys.stop()) }()
	if o.profile != "" {
		file, err := os.Create(o.profile)
		if err != nil {
			return result, err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return result, fmt.Errorf("start the profile: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	return runRounds(ctx, sys, o, progress)
}
