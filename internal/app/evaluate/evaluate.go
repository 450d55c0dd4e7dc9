// Package evaluate runs the cases of package eval in this process: the real workflows and activities with a store that is deleted
// afterwards, and tools from a tape.
package evaluate

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/app/inmemory"
	"github.com/inquest-dev/inquest/internal/eval"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/tool"
)

// Options say how to run a case.
type Options struct {
	Config string // directory or file; empty means only the built-in entries
	// Provider replaces the model of every agent. Empty means the models of the configuration, and eval.Recorded the recorded replies.
	Provider string
	// Live calls the real tools that only read for what is not on the tape.
	Live bool
	// Keep gets the bundle of each run that has ended, as "starter export" writes it; nil means that nobody wants it.
	Keep func(r eval.Run, bundle []byte) error
	// Timeout limits the run; zero means no limit.
	Timeout time.Duration
	// Data is the folder in INQUEST_DATA, for the configuration.
	Data   string
	Logger *slog.Logger
}

const (
	// idle is how long a run may wait for one model or tool call.
	idle = time.Hour
	// grace is how long a cancelled run may take to end.
	grace = 10 * time.Second
	// patience is how long an investigation may wait by its own clock.
	patience = 24 * time.Hour
)

// errWaited is the error of a run that nothing would end.
var errWaited = fmt.Errorf("the investigation waited for %s: this program may lack functions that the configuration names", patience)

// Run runs a case once. A run that could not be made has an Error. When ctx ends, the run is cancelled.
func Run(ctx context.Context, c eval.Case, opts Options) eval.Run {
	if opts.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, opts.Timeout, fmt.Errorf("it took longer than %s", opts.Timeout))
		defer cancel()
	}
	out := eval.Run{Case: c.Name, Provider: opts.Provider}
	began := time.Now()
	dir, err := os.MkdirTemp("", "inquest-eval")
	if err != nil {
		out.Error = err.Error()
		return out
	}
	defer os.RemoveAll(dir)
	t := &try{Options: opts, of: c, dir: dir, player: eval.NewPlayer(c.Tape)}
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil { // the SDK's test environment panics
				done <- fmt.Errorf("the run panicked: %v", p)
			}
		}()
		done <- t.run(ctx)
	}()
	ended := true
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done:
		case <-time.After(grace):
			ended = false
		}
		err = cmp.Or(context.Cause(ctx), err)
	}
	out.TookMS = time.Since(began).Milliseconds()
	if ended {
		err = t.result(&out, err)
	}
	if err != nil {
		out.Error = err.Error()
	}
	return out
}

// result adds what is known about a run that has ended, perhaps with an error.
func (t *try) result(out *eval.Run, err error) error {
	out.Coverage, out.Report = t.player.Coverage(), t.outcome.Report
	if t.Provider != eval.Recorded {
		out.CostUSD, out.Tokens = t.usage.CostUSD, t.usage.Tokens()
	}
	if failed := t.gaveUp.Load(); err == nil && failed != nil && t.outcome.Status == agent.StatusFailed {
		err = failed
	}
	if err == nil {
		out.Failures = t.of.Expect.Failures(t.outcome)
		out.Passed, out.Diverged = len(out.Failures) == 0, eval.Diverged(t.of.Tape, t.outcome.Tape)
	}
	if t.Keep != nil && t.bundle != nil {
		err = cmp.Or(err, t.Keep(*out, t.bundle))
	}
	return err
}

// try is one run of a case.
type try struct {
	Options
	of      eval.Case
	dir     string // of its store
	player  *eval.Player
	outcome eval.Outcome
	usage   agent.Usage
	bundle  []byte
	// gaveUp is the last error of a model after which it was not called again. The run cannot be judged if the investigation fails then.
	gaveUp atomic.Pointer[llm.Error]
}

func (t *try) run(ctx context.Context) (err error) {
	request := t.of.RequestFor(t.Provider)
	input, err := json.Marshal(request)
	if err != nil {
		return err
	}
	service, err := inmemory.Serve(input)
	if err != nil {
		return err
	}
	defer service.Stop()
	if t.Live {
		if err := app.PrepareSample(t.Data); err != nil {
			return err
		}
	}
	host, err := app.NewHost(ctx, app.HostOptions{
		Settings: t.settings(ctx), Temporal: service.Client(), Data: t.Data, Config: t.Config,
		Store: filepath.Join(t.dir, "inquest.db"), TemporaryStore: true,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Stop()) }()
	id := fmt.Sprintf("eval-%s-%s", t.of.Name, strings.ToLower(rand.Text()[:8])) // several runs can be imported into one store
	waited, stop := false, func() bool { return true }
	defer func() { stop() }()
	_, err = inmemory.Run{
		Register: func(env worker.Registry) error { return host.StartIn(ctx, env) }, Request: request, Idle: idle, Logger: t.Logger,
		Prepare: func(env *testsuite.TestWorkflowEnvironment) {
			env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: id})
			if at := t.of.Tape.StartedAt; !at.IsZero() { // agents are told the time, and ask their tools about it
				env.SetStartTime(at)
			}
			env.RegisterDelayedCallback(func() {
				waited = true
				env.CancelWorkflow()
			}, patience)
			stop = context.AfterFunc(ctx, env.CancelWorkflow)
		},
	}.Execute()
	if waited {
		return errWaited
	}
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		err = errors.New(failed.Message())
	}
	read := t.read(context.WithoutCancel(ctx), host, id)
	if s := t.outcome.Status; read == nil && s.Closed() && s != agent.StatusRefused {
		return nil // also if the investigation failed
	}
	return cmp.Or(err, read, errors.New("the investigation did not end"))
}

// settings are those of the worker. Calls of models and real tools end with ctx, before Temporal cancels their activities.
func (t *try) settings(ctx context.Context) app.Settings {
	out := app.Settings{Logger: t.Logger, Evaluation: &app.Evaluation{
		Tools: func(live tool.Caller) tool.Caller {
			if t.Live {
				t.player.Live = bounded{live, ctx}
			}
			return t.player
		},
		Model:       func(own llm.Client) llm.Client { return patient{own, ctx, t.gaveUp.Store} },
		NativeTools: t.Live,
	}}
	if t.Provider == eval.Recorded {
		out.Models, out.Evaluation.Model = map[string]llm.Client{"*": t.player.Model(caller)}, nil
	}
	return out
}

// read reads what the run has left in its store.
func (t *try) read(ctx context.Context, host *app.Host, id string) error {
	r, err := host.Store.FindInvestigation(ctx, id)
	if err != nil {
		return err
	}
	entries, err := host.Store.After(ctx, r.ID, 0, 0)
	if err != nil {
		return err
	}
	o := &t.outcome
	if o.Proof, err = host.System().Evidence(ctx, system.Record{Investigation: r, Entries: entries}); err != nil {
		return err
	}
	o.Status, o.Error, o.Report, o.Cause = r.Status, r.Error, r.Report, report.BriefOf(r, nil).Cause
	t.usage = r.Usage
	if t.Keep != nil && r.Status.Closed() {
		if t.bundle, _, err = host.System().Export(ctx, r.ID); err != nil {
			return err
		}
	}
	o.Tape, err = eval.Record(ctx, entries, nil, host.Store)
	return err
}

// caller identifies the call of a model by the workflow of the agent, whose ID ends with the execution, and the activity.
func caller(ctx context.Context) (execution, call string) {
	info := activity.GetInfo(ctx)
	_, execution, _ = strings.Cut(info.WorkflowExecution.ID, "/")
	return execution, info.WorkflowExecution.RunID + "/" + info.ActivityID
}

// within returns a context that also ends with a run.
func within(ctx, run context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(run, func() { cancel(context.Cause(run)) })
	return ctx, func() { stop(); cancel(nil) }
}

// bounded makes real tool calls as long as a run lasts.
type bounded struct {
	tool.Caller
	run context.Context
}

// Call makes the call.
func (b bounded) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	ctx, end := within(ctx, b.run)
	defer end()
	return b.Caller.Call(ctx, call)
}

// patient waits for a model itself. In a run, the waits of workflows pass at once, so their retries would come too fast.
type patient struct {
	llm.Client
	run context.Context
	// gaveUp gets the error after which the model is not called again.
	gaveUp func(*llm.Error)
}

// tries is how often a model with a temporary error is called.
const tries = 6

// Generate returns a temporary error as a lasting one after several attempts.
func (p patient) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	ctx, end := within(ctx, p.run)
	defer end()
	for try := 1; ; try++ {
		out, err := p.Client.Generate(ctx, req, onDelta)
		failed, ok := errors.AsType[*llm.Error](err)
		if !ok || ctx.Err() != nil {
			return out, err
		}
		switch {
		case errors.Is(err, llm.ErrNoKey), errors.Is(err, llm.ErrAuth), errors.Is(err, llm.ErrQuotaExhausted):
		case !temporary(err):
			return out, err
		case try < tries:
			select {
			case <-time.After(max(failed.RetryAfter, time.Second<<try)):
				continue
			case <-ctx.Done():
				return out, err
			}
		}
		p.gaveUp(failed)
		final := *failed
		final.Kind, final.Message = llm.ErrInvalidRequest, err.Error()
		return out, &final
	}
}

func temporary(err error) bool {
	for _, kind := range []error{llm.ErrRateLimited, llm.ErrUnavailable, llm.ErrStalled, llm.ErrTruncated, llm.ErrMalformed} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
