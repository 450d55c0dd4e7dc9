package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime/debug"
	"runtime/pprof"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/dial"
	"github.com/inquest-dev/inquest/internal/store"
)

// workerProcess is this program as the worker of all workloads. It is a separate process, so that its usage is
// measured apart from that of the model and the tools.
type workerProcess struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

// workerSettings are the first line of the worker's input.
type workerSettings struct {
	Temporal, Store, Config, Model, Tools, Profile string
	Calls                                          int // maximum in parallel (queue.worker_count)
}

func startWorker(settings workerSettings) (*workerProcess, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &workerProcess{cmd: exec.Command(program, "worker")}
	w.cmd.Stderr = os.Stderr
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.lines = bufio.NewScanner(out)
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	if err := json.NewEncoder(w.in).Encode(settings); err == nil && w.lines.Scan() {
		return w, nil
	}
	return nil, errors.Join(errors.New("the worker did not come up"), w.stop())
}

// forget makes the worker release unused memory.
func (w *workerProcess) forget() error {
	if _, err := io.WriteString(w.in, "forget\n"); err != nil || !w.lines.Scan() {
		return fmt.Errorf("the worker is gone: %w", err)
	}
	return nil
}

func (w *workerProcess) stop() error {
	w.in.Close()
	if err := w.cmd.Wait(); err != nil {
		return fmt.Errorf("stop the worker: %w", err)
	}
	return nil
}

func workerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "worker", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}

// serve is the worker's process. It exits when its input ends, and therefore with the process that started it.
func serve(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	lines := bufio.NewScanner(in)
	var settings workerSettings
	if !lines.Scan() {
		return errors.New("this is started by the benchmark itself")
	}
	if err := json.Unmarshal(lines.Bytes(), &settings); err != nil {
		return err
	}
	stop, err := settings.start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if settings.Profile != "" {
		file, err := os.Create(settings.Profile)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		if err := pprof.StartCPUProfile(file); err != nil {
			return fmt.Errorf("start the profile: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	fmt.Fprintln(out, "up")
	for lines.Scan() {
		debug.FreeOSMemory()
		fmt.Fprintln(out, "done")
	}
	return lines.Err()
}

// start starts Inquest's worker and the worker of the baselines.
func (s workerSettings) start(ctx context.Context) (stop func(), err error) {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	cfg, err := configuration.Load(configuration.Source{Dir: s.Config, Env: lookup(s.Model, s.Tools)})
	if err != nil {
		return nil, err
	}
	journal, err := store.Open(ctx, store.At(s.Store))
	if err != nil {
		return nil, err
	}
	c, err := dial.Temporal(ctx, client.Options{HostPort: s.Temporal, Logger: sdklog.NewStructuredLogger(logger)})
	if err != nil {
		return nil, fmt.Errorf("connect to Temporal: %w", err)
	}
	h, err := newHand(ctx, s.Model, s.Tools)
	if err != nil {
		return nil, err
	}
	worker.SetStickyWorkflowCacheSize(app.CachedWorkflows(s.Calls))
	ours, err := app.StartWorker(ctx, app.WorkerOptions{
		Settings: app.Settings{Logger: logger, MaxCalls: s.Calls}, Client: c, Config: cfg, Store: journal,
	})
	if err != nil {
		return nil, err
	}
	baseline := worker.New(c, bareQueue, worker.Options{})
	registerBare(baseline, h)
	if err := baseline.Start(); err != nil {
		return nil, fmt.Errorf("start the baselines' worker: %w", err)
	}
	return func() {
		baseline.Stop()
		ours.Stop()
		_ = h.mcp.Close()
		c.Close()
		_ = journal.Close()
	}, nil
}
