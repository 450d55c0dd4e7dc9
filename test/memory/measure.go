package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"text/tabwriter"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/devserver"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// figures are those of one investigation, without the agents that score it and learn from it.
type figures struct {
	Right                         bool
	Score                         *int
	Iterations, ToolCalls, Tokens int
	Learnings                     int // that its agents got
}

// comparison holds the last investigations of both systems.
type comparison struct{ without, with figures }

func compare(ctx context.Context, o options) (out comparison, err error) {
	if out.without, err = investigate(ctx, o, false); err == nil {
		out.with, err = investigate(ctx, o, true)
	}
	return out, err
}

func (c comparison) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	verdict := map[bool]string{true: "right", false: "wrong"}
	fmt.Fprintf(table, "\twithout memory\twith memory\tdifference\n")
	fmt.Fprintf(table, "conclusion\t%s\t%s\t\n", verdict[c.without.Right], verdict[c.with.Right])
	fmt.Fprintf(table, "score\t%s\t%s\t\n", scoreText(c.without.Score), scoreText(c.with.Score))
	for _, row := range []struct {
		name          string
		without, with int
	}{
		{"learnings read", c.without.Learnings, c.with.Learnings}, {"iterations", c.without.Iterations, c.with.Iterations},
		{"tool calls", c.without.ToolCalls, c.with.ToolCalls}, {"tokens", c.without.Tokens, c.with.Tokens},
	} {
		fmt.Fprintf(table, "%s\t%d\t%d\t%+d\n", row.name, row.without, row.with, row.with-row.without)
	}
	return table.Flush()
}

func scoreText(score *int) string {
	if score == nil {
		return "none"
	}
	return fmt.Sprint(*score)
}

// investigate runs all rounds on a system of its own, and returns the figures of the last one.
func investigate(ctx context.Context, o options, memory bool) (out figures, err error) {
	dir, err := os.MkdirTemp("", "inquest-memory-")
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := configure(filepath.Join(dir, "config"), o, memory); err != nil {
		return out, err
	}
	logger := slog.New(slog.NewTextHandler(o.progress, &slog.HandlerOptions{Level: slog.LevelError}))
	server, err := devserver.Start(ctx, devserver.Options{Dir: filepath.Join(dir, "temporal"), Listen: "127.0.0.1:0", Logger: logger})
	if err != nil {
		return out, err
	}
	defer server.Stop()
	host := app.HostOptions{
		Temporal: client.Options{HostPort: server.Address(), Namespace: devserver.Namespace}, Data: filepath.Join(dir, "data"),
		Config: filepath.Join(dir, "config"), DefaultStore: filepath.Join(dir, "inquest.db"),
	}
	host.Keeper, host.Logger, host.Models = app.Keeper(), logger, o.models
	h, err := app.StartHost(ctx, host)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, h.Stop()) }()
	for n := range o.rounds {
		if out, err = round(ctx, h, o, fmt.Sprintf("round-%d", n+1)); err != nil {
			return out, err
		}
		fmt.Fprintf(o.progress, "memory %t, round %d of %d: score %s, %d iterations, %d tool calls, %d tokens\n",
			memory, n+1, o.rounds, scoreText(out.Score), out.Iterations, out.ToolCalls, out.Tokens)
	}
	return out, nil
}

// configure writes the configuration: that of the options, and what turns memory on.
func configure(dir string, o options, memory bool) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	scoring := "enabled: true"
	if o.provider != "" {
		scoring += fmt.Sprintf(", llm_provider: %q", o.provider)
	}
	text := fmt.Sprintf("defaults: {scoring: {%s}, memory: {enabled: %t}}\n", scoring, memory)
	if o.config != "" {
		own, err := os.ReadFile(o.config)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "own.yaml"), own, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "memory.yaml"), []byte(text), 0o600)
}

// round investigates the incident once, and waits until it was scored and has taught.
func round(ctx context.Context, h *app.Host, o options, name string) (out figures, err error) {
	what := system.Start{
		Workflow: name, Request: agent.Request{AlertType: o.alert.alertType, Provider: o.provider, Again: true}, Data: o.alert.data,
	}
	what.Know(h.Config.Current())
	handle, err := h.System().Start(ctx, what)
	if err != nil {
		return out, fmt.Errorf("start %s: %w", name, err)
	}
	if _, err := h.System().Await(ctx, handle); err != nil {
		return out, fmt.Errorf("%s: %w", name, err)
	}
	// A scoring that fails is part of the result.
	err = h.Client.GetWorkflow(ctx, workflows.ScoringID(handle.ID()), "").Get(ctx, nil)
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing || ctx.Err() != nil {
		return out, fmt.Errorf("wait until %s is scored: %w", name, err)
	}
	all, err := h.System().Whole(ctx, handle.ID())
	if err != nil {
		return out, err
	}
	if all.Investigation.Status != agent.StatusCompleted {
		return out, fmt.Errorf("%s ended as %s: %s", name, all.Investigation.Status, all.Investigation.Error)
	}
	of := learning.ReadFilter{Project: all.Investigation.Project, Investigation: handle.ID()}
	reads, _, err := h.Store.LearningReads(ctx, of)
	return figuresOf(o.alert, all, len(reads)), err
}

func figuresOf(of incident, all system.Record, reads int) figures {
	out := figures{Right: of.right.MatchString(all.Investigation.Report), Learnings: reads}
	if judged := all.Score(); judged != nil {
		out.Score = judged.Score
	}
	for _, x := range all.Executions {
		if !plan.Judges(x.Name) {
			out.Iterations += x.Iterations
			out.ToolCalls += x.Usage.ToolCalls
			out.Tokens += x.Usage.InputTokens + x.Usage.OutputTokens
		}
	}
	return out
}
