package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/app/evaluate"
	"github.com/inquest-dev/inquest/internal/eval"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
)

// evalFlags are the flags of eval run.
type evalFlags struct {
	providers                 []string
	times, parallel           int
	timeout                   time.Duration
	tools                     string
	junit, markdown, baseline string
	keep                      string // a folder for the runs
}

func evalRun(c *base.CLI) *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "run [DIR]",
		Short: "Run cases against a configuration",
		Long: `Run the case in a folder, or all cases in its subfolders (default: evals). The table has a row
for each case and provider:

  PASSED  runs that met all expectations; runs whose model failed do not count
  RATE    the pass rate, with its 95 % confidence interval
  TIME    the mean time of a run
  TAPE    tool calls that were answered from the tape / all tool calls

Below it is where the first failed run began to differ from the tape. --keep keeps the runs.

--provider ` + eval.Recorded + ` replays the recorded replies of the models. It needs no key, costs nothing, and
shows whether agents, tools and permissions of the configuration still fit. It does not test
prompts or models.

A call that is not on the tape is not made, and the model gets an error that says so. With
--tools live, it is made if the tool only reads and needs no approval.

The exit code is 1 if a run failed; with --baseline, if a case passes less often than before, by
more than chance explains (make about five runs of each), if a new case fails, or if a case
could not be run.`,
		Example: `  starter eval run --config inquest --provider ` + eval.Recorded + `
  starter eval run evals/crash-loop --provider openai:gpt-4o --times 5
  starter eval run --config inquest --json > baseline.json
  starter eval run --config inquest --baseline baseline.json --junit evals.xml`,
		Args: base.AtMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := defaultCases
			if len(args) > 0 {
				dir = args[0]
			}
			return f.run(cmd.Context(), c, dir)
		},
	}
	c.ConfigFlag(cmd)
	set := cmd.Flags()
	set.StringArrayVar(&f.providers, "provider", nil,
		"llm_providers entry or provider:model for all agents, or "+eval.Recorded+"; may be repeated (default: the configuration's)")
	set.IntVar(&f.times, "times", 1, "how often to run each case with each provider")
	set.IntVar(&f.parallel, "parallel", min(4, runtime.NumCPU()), "how many runs to make at a time")
	set.DurationVar(&f.timeout, "timeout", 30*time.Minute, "longest time for a run (0: no limit)")
	set.StringVar(&f.tools, "tools", "tape", "for calls that are not on the tape: tape (not made) or live (made if they only read)")
	set.StringVar(&f.junit, "junit", "", "write a JUnit report to this `file`")
	set.StringVar(&f.markdown, "markdown", "", "write a Markdown report to this `file`")
	set.StringVar(&f.keep, "keep", "", "write each run to a file in this `folder`, as starter export does")
	set.StringVar(&f.baseline, "baseline", "", "`file` with earlier results (--json) to compare with")
	set.BoolVar(&c.JSON, "json", false, "print the results as JSON")
	return cmd
}

// check returns everything that is wrong with the flags.
func (f *evalFlags) check() error {
	var errs []error
	if f.times < 1 || f.parallel < 1 {
		errs = append(errs, errors.New("--times and --parallel: expected at least 1"))
	}
	if f.tools != "tape" && f.tools != "live" {
		errs = append(errs, fmt.Errorf("--tools %q: use tape or live", f.tools))
	}
	if len(f.providers) == 0 {
		f.providers = []string{""}
	}
	if err := errors.Join(errs...); err != nil {
		return base.Usagef("%w", err)
	}
	return nil
}

func (f *evalFlags) run(ctx context.Context, c *base.CLI, dir string) error {
	if err := f.check(); err != nil {
		return err
	}
	var earlier eval.Results
	if f.baseline != "" {
		text, err := os.ReadFile(f.baseline)
		if err == nil {
			earlier, err = eval.ParseResults(text)
		}
		if err != nil {
			return base.Usagef("--baseline %s: %w", f.baseline, err)
		}
	}
	cases, err := f.load(c, dir)
	if err != nil {
		return err
	}
	data, err := c.DataFolder()
	if err != nil {
		return err
	}
	for _, path := range []string{f.junit, f.markdown} { // a report that cannot be written must not cost the runs
		if path == "" {
			continue
		}
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
		if err == nil {
			err = file.Close()
		}
		if err != nil {
			return base.Usagef("%w", err)
		}
	}
	if f.keep != "" {
		if err := os.MkdirAll(f.keep, 0o700); err != nil {
			return base.Usagef("--keep: %w", err)
		}
	}
	opts := evaluate.Options{Config: c.Config, Data: data, Live: f.tools == "live", Timeout: f.timeout, Logger: slog.New(slog.DiscardHandler)}
	total := len(cases) * len(f.providers) * f.times
	c.Say("%s of %s, at most %d at a time", terminal.Count(total, "run"), terminal.Count(len(cases), "case"), f.parallel)
	results := eval.NewResults(f.all(ctx, c, cases, opts), time.Now())
	if ctx.Err() == nil {
		return f.print(c, results, earlier)
	}
	c.Say("interrupted after %d of %d runs: no files are written, and nothing is compared", len(results.Runs), total)
	results.Interrupted = true
	if c.JSON {
		return errors.Join(c.PrintJSON(results), ctx.Err())
	}
	return errors.Join(printResults(c, results), ctx.Err())
}

// load reads the cases, and checks that the configuration can run all of them.
func (f *evalFlags) load(c *base.CLI, dir string) ([]eval.Case, error) {
	cases, err := eval.LoadAll(dir)
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, base.Usagef("%w", err)
	case len(cases) == 0:
		return nil, base.Usagef("no cases in %s: make one with `starter eval add ID NAME`", dir)
	}
	cfg, err := c.LoadConfig()
	if err != nil {
		return nil, err
	}
	var wrong []error
	for _, one := range cases {
		for _, provider := range f.providers {
			request := one.RequestFor(provider)
			p, err := cfg.Plan(request)
			if len(cfg.VirtualOf(cfg.ChainOf(request))) > 0 { // this program has no agents that were made at run time
				err = errors.New("chains with agents made at run time cannot be evaluated")
			}
			if err = cmp.Or(err, p.Unattended()); err != nil {
				wrong = append(wrong, fmt.Errorf("%s: %w", one.Name, err))
			}
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, base.Usagef("%w", err)
	}
	return cases, nil
}

// all makes the runs, several at a time, and returns those that were made before ctx ended, in order.
func (f *evalFlags) all(ctx context.Context, c *base.CLI, cases []eval.Case, opts evaluate.Options) []eval.Run {
	type job struct {
		of eval.Case
		evaluate.Options
		n int
	}
	var jobs []job
	for _, one := range cases {
		for _, provider := range f.providers {
			for n := range f.times {
				opts.Provider = provider
				jobs = append(jobs, job{one, opts, n + 1})
			}
		}
	}
	runs, slots := make([]eval.Run, len(jobs)), make(chan struct{}, f.parallel)
	var running sync.WaitGroup
	var printing sync.Mutex
	made := 0
	for k, j := range jobs {
		running.Go(func() {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			defer func() { <-slots }()
			if f.keep != "" {
				j.Keep = func(run eval.Run, bundle []byte) error {
					return os.WriteFile(f.file(run, j.n), bundle, 0o600)
				}
			}
			run := evaluate.Run(ctx, j.of, j.Options)
			if ctx.Err() != nil {
				return
			}
			run.N, run.Provider = j.n, cmp.Or(run.Provider, configured)
			runs[k] = run
			printing.Lock()
			defer printing.Unlock()
			made++
			c.Say("%d of %d: %s", made, len(jobs), terminal.CleanLine(fmt.Sprintf("%s · %s: %s", run.Case, run.Provider, verdict(run))))
		})
	}
	running.Wait()
	return slices.DeleteFunc(runs, func(r eval.Run) bool { return r.N == 0 })
}

// configured is the name of the configuration's own models in results.
const configured = "configured"

// file returns where a run is kept.
func (f *evalFlags) file(r eval.Run, n int) string {
	name := fmt.Sprintf("%s-%s-%d.zip", r.Case, cmp.Or(r.Provider, configured), n)
	return filepath.Join(f.keep, strings.NewReplacer("/", "_", `\`, "_", ":", "_").Replace(name))
}

func verdict(r eval.Run) string {
	if r.Passed {
		return fmt.Sprintf("passed (%s)", eval.Seconds(r.TookMS))
	}
	return "failed: " + strings.Join(r.Problems(), "; ")
}

// print prints the results and writes the requested files. The error says what failed.
func (f *evalFlags) print(c *base.CLI, r, earlier eval.Results) error {
	var errs []error
	if c.JSON {
		errs = append(errs, c.PrintJSON(r))
	} else {
		errs = append(errs, printResults(c, r))
	}
	if f.junit != "" {
		text, err := r.JUnit()
		if err == nil {
			err = os.WriteFile(f.junit, text, 0o644)
		}
		errs = append(errs, err)
	}
	if f.markdown != "" {
		errs = append(errs, os.WriteFile(f.markdown, []byte(r.Markdown()), 0o644))
	}
	if f.baseline == "" {
		if !r.Passes() {
			errs = append(errs, errors.New("some runs failed"))
		}
		return errors.Join(errs...)
	}
	worse, err := r.Regressions(earlier)
	if err != nil {
		errs = append(errs, fmt.Errorf("--baseline %s: %w", f.baseline, err))
	}
	if len(worse) > 0 {
		for n := range worse {
			worse[n] = terminal.CleanLine(worse[n])
		}
		errs = append(errs, fmt.Errorf("worse than %s:\n%s", f.baseline, strings.Join(worse, "\n")))
	}
	return errors.Join(errs...)
}

func printResults(c *base.CLI, r eval.Results) error {
	const titles = "CASE\tPROVIDER\tPASSED\tRATE (95 %)\tCOST\tTIME\tTAPE"
	err := base.PrintTable(c, titles, append(slices.Clone(r.Cases), r.Totals...), func(t eval.Total) []any {
		cells := []any{cmp.Or(t.Case, "(all)"), t.Provider}
		for _, text := range t.Columns() {
			cells = append(cells, text)
		}
		return cells
	})
	if err != nil {
		return err
	}
	for _, t := range r.Cases {
		if t.Diverged != nil {
			where := fmt.Sprintf("%s · %s differs from the tape at %s", t.Case, t.Provider, t.Diverged)
			err = errors.Join(err, c.Print(terminal.CleanLine(where)))
		}
	}
	return err
}
