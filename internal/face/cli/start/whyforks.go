package start

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

const (
	// metaWhy is the key of the metadata of what the command why starts: the ID of the investigation.
	metaWhy = "why"
	// lastPriority lets everything else go first.
	lastPriority = 5
	// lateTime is how long a command that was interrupted takes at most to start, and to cancel, an investigation.
	lateTime = 10 * time.Second
)

// forkAll makes the forks, several at a time, and waits for them. When ctx ends, it cancels those that run.
func (w *why) forkAll(ctx context.Context) {
	var lock sync.Mutex
	var group errgroup.Group
	group.SetLimit(w.parallel)
	tried := w.result.tried()
	for _, one := range tried {
		one.Forks = make([]oneRun, w.times)
	}
	ended, total, reserved := 0, len(tried)*w.times, 0.0
	try := func(one *without, n int) {
		group.Go(func() error {
			run, used := oneRun{Error: "not started: the budget is used up"}, agent.Usage{}
			lock.Lock()
			beyond := w.budget > 0 && w.result.Used.CostUSD+reserved+one.Again.CostUSD > w.budget
			if !beyond {
				reserved += one.Again.CostUSD
			}
			lock.Unlock()
			if !beyond {
				run, used = w.forkOnce(ctx, *one)
			}
			lock.Lock()
			defer lock.Unlock()
			if !beyond {
				reserved -= one.Again.CostUSD
			}
			one.Forks[n], w.result.Used, ended = run, w.result.Used.Add(used), ended+1
			switch {
			case ctx.Err() == nil:
				w.Say("%d of %s ended, %s so far", ended, terminal.Count(total, "fork"), usageText(w.result.Used))
			case run.ID != "" && run.Error != ctx.Err().Error():
				w.Say("%s", run.Error)
			}
			return nil
		})
	}
	for n := range w.times { // each input once before one has its second fork
		for _, one := range tried {
			try(one, n)
		}
	}
	_ = group.Wait()
}

// forkOnce makes a fork, and waits for its conclusion. If it is not known what the fork has used, it is what was expected.
func (w *why) forkOnce(ctx context.Context, one without) (run oneRun, used agent.Usage) {
	r, err := w.investigate(ctx, agent.Request{Fork: w.asked(one)}, "")
	run, used = oneRun{ID: r.ID, Conclusion: conclusionOf(r)}, r.Usage
	switch {
	case err != nil:
		if run.Error = err.Error(); r.ID != "" {
			used = one.Again
		}
	case r.Status != agent.StatusCompleted || run.Conclusion == "":
		run.Error = strings.TrimSuffix(fmt.Sprintf("it %s: %s", r.Status, r.Error), ": ")
	}
	return run, used
}

// investigate starts an investigation and waits for its end. If that fails, or ctx ends, it cancels the investigation.
func (w *why) investigate(ctx context.Context, req agent.Request, data string) (r record.Investigation, err error) {
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	req.By, req.Priority, req.Metadata, req.Trial = w.by, lastPriority, map[string]string{metaWhy: w.result.Of}, true
	s := system.Start{Request: req, Data: data}
	if w.config != nil {
		s.Know(w.config)
	}
	starting, end := context.WithTimeout(context.WithoutCancel(ctx), lateTime) // else nobody would know what has started
	h, err := w.Client().Start(starting, s)
	end()
	if err != nil {
		return r, err
	}
	_, err = w.Client().Await(ctx, h)
	late, end := context.WithTimeout(context.WithoutCancel(ctx), lateTime)
	defer end()
	if err != nil || ctx.Err() != nil {
		err = cmp.Or(ctx.Err(), err)
		if _, failed := w.Client().CancelAs(late, h.ID(), agent.Identity{Name: w.by, Channel: agent.ChannelCLI}); failed != nil {
			err = fmt.Errorf("%w, and %s may still run: %w", err, h.ID(), failed)
		}
		return record.Investigation{ID: h.ID()}, err
	}
	whole, err := w.Client().Outcome(late, h.ID())
	if err != nil {
		whole.Investigation = record.Investigation{ID: h.ID()}
	}
	return whole.Investigation, err
}

// comparer is the agent that compares conclusions, and maxCompared how many it gets at once.
const (
	comparer    = "ConclusionAgent"
	maxCompared = 20
)

// compareAll has the conclusions of the forks compared with that of the investigation. Equal texts are the same.
func (w *why) compareAll(ctx context.Context) error {
	found := map[string]verdict{w.result.Conclusion: same}
	var open []string
	w.result.each(func(f *oneRun) {
		if _, known := found[f.Conclusion]; !known && f.Error == "" {
			found[f.Conclusion], open = "", append(open, f.Conclusion)
		}
	})
	var errs []error
	for part := range slices.Chunk(open, maxCompared) {
		verdicts, err := w.compare(ctx, part)
		if err != nil {
			errs = append(errs, fmt.Errorf("compare the conclusions: %w", err))
		}
		maps.Copy(found, verdicts)
	}
	w.result.each(func(f *oneRun) {
		if f.Error == "" {
			f.Verdict = found[f.Conclusion]
		}
	})
	return errors.Join(errs...)
}

// each calls fn with each fork.
func (r *whyResult) each(fn func(*oneRun)) {
	for _, one := range r.tried() {
		for n := range one.Forks {
			fn(&one.Forks[n])
		}
	}
}

// compare asks the agent which conclusions differ from that of the investigation.
func (w *why) compare(ctx context.Context, others []string) (map[string]verdict, error) {
	type numbered struct {
		Number     int    `json:"number"`
		Conclusion string `json:"conclusion"`
	}
	in := struct {
		Conclusion string     `json:"conclusion"`
		Others     []numbered `json:"others"`
	}{Conclusion: w.result.Conclusion}
	for n, text := range others {
		in.Others = append(in.Others, numbered{n + 1, text})
	}
	data, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	of := w.of.Investigation
	req := agent.Request{Chain: configuration.OfAgent + comparer, Provider: w.provider}
	req.Project, req.Tenant = of.Project, of.Tenant
	r, err := w.investigate(ctx, req, string(data))
	if r.ID != "" {
		w.result.Comparisons, w.result.Used = append(w.result.Comparisons, r.ID), w.result.Used.Add(r.Usage)
	}
	switch {
	case err != nil:
		return nil, err
	case r.Status != agent.StatusCompleted:
		return nil, fmt.Errorf("%s is %s: %s", r.ID, r.Status, r.Error)
	}
	verdicts, err := verdictsIn(r.Report, others)
	if err != nil {
		err = fmt.Errorf("the answer in %s: %w", r.ID, err)
	}
	return verdicts, err
}

// verdictsIn reads the agent's answer. Conclusions without a verdict are missing.
func verdictsIn(report string, others []string) (map[string]verdict, error) {
	var answer struct {
		Verdicts []struct {
			Number  int     `json:"number"`
			Verdict verdict `json:"verdict"`
		} `json:"verdicts"`
	}
	if err := json.Unmarshal([]byte(report), &answer); err != nil {
		return nil, err
	}
	out := map[string]verdict{}
	for _, v := range answer.Verdicts {
		if v.Number < 1 || v.Number > len(others) || v.Verdict != same && v.Verdict != different {
			return nil, fmt.Errorf("verdict %q on number %d of %d", v.Verdict, v.Number, len(others))
		}
		out[others[v.Number-1]] = v.Verdict
	}
	return out, nil
}
