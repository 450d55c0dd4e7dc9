package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/knowledge/pack"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/sample"
	"github.com/inquest-dev/inquest/internal/store"
	wire "github.com/inquest-dev/inquest/internal/system"
)

func demoCommand(f *flags) *cobra.Command {
	var d demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Investigate the sample incident, show it live, and stop",
		Long: `Investigate the sample incident, show it live, and stop.

The tools are real: an MCP server over stdio that reads the incident's files, and
a shell with an allow-list. The model is scripted, so you need no key and no
network. With --provider, the same chain runs on a real model:

  go run ./dev demo --provider openai:gpt-4o-mini      (OPENAI_API_KEY)
  go run ./dev demo --provider ollama:llama3.1         (a local Ollama)

With --pack, it replays the demo of a toolset pack (starter packs lists them): its tools
and a scripted model. The tools' answers are recorded from the real server or, for some
packs, invented. The demo says which.

  go run ./dev demo --pack grafana

With --alert-type and --alert, it investigates your own alert with the chain that --config
defines for it.

With --slack and a --config that has system.slack, the report also appears in a thread of its
first channel.

With --keep, the system and its UI keep running until Ctrl-C. The data is in the folder demo
inside the data folder of dev. The system uses free ports unless --listen and --ui set
them. With --open, the page opens in the browser, and the system keeps running as with --keep.`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd, demoFlags(cmd, *f), d) },
	}
	cmd.Flags().StringVar(&d.provider, "provider", "",
		`model for every agent: an llm_providers entry or "provider:model" (default: the scripted one)`)
	cmd.Flags().BoolVar(&d.keep, "keep", false, "keep the system running after the investigation, until Ctrl-C")
	cmd.Flags().BoolVar(&d.open, "open", false, "open the investigation's page in the browser, and keep the system running")
	cmd.Flags().StringVar(&d.pack, "pack", "", "replay the demo of this toolset `pack` (without --config)")
	cmd.Flags().StringVar(&d.alertType, "alert-type", "", "investigate an alert of this type instead (with --alert and --config)")
	cmd.Flags().StringVar(&d.data, "alert", "", "the alert for --alert-type: text or @file")
	cmd.MarkFlagsRequiredTogether("alert-type", "alert")
	cmd.MarkFlagsMutuallyExclusive("pack", "alert-type")
	return cmd
}

// sampleIncident is the alert type of the sample incident.
const sampleIncident = "sample-incident"

type demoOptions struct {
	provider        string
	keep, open      bool
	pack            string // empty means no pack
	alertType, data string // empty means the sample incident
	slack           bool   // report in a thread of the configuration's first channel
}

// alert returns the alert to investigate.
func (d demoOptions) alert() (alertType, data string, err error) {
	path, named := strings.CutPrefix(d.data, "@")
	switch {
	case d.alertType == "":
		return sampleIncident, string(sample.Alert()), nil
	case !named:
		return d.alertType, d.data, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", "", &command.UsageError{Err: fmt.Errorf("--alert: %w", err)}
	}
	return d.alertType, string(text), nil
}

// demoFlags keeps a demo from colliding with a running dev, unless flags say otherwise.
func demoFlags(cmd *cobra.Command, f flags) flags {
	if !cmd.Flags().Changed("listen") {
		f.Listen = "127.0.0.1:0"
	}
	if !cmd.Flags().Changed("ui") {
		f.UI = "127.0.0.1:0"
	}
	if f.host.Data == "" {
		if data, err := command.DefaultData(); err == nil {
			f.host.Data = filepath.Join(data, "demo")
		}
	}
	return f
}

func demo(cmd *cobra.Command, f flags, d demoOptions) error {
	if d.open && cmd.Flags().Changed("http") && f.http == "" {
		return &command.UsageError{Err: errors.New(`--open needs the page: remove --http ""`)}
	}
	keep := d.keep || d.open
	d.slack = f.slack
	var err error
	if d.pack != "" {
		d.alertType = packScript(d.pack)
		f.host.Config, d.data, err = packDemo(f.host.Data, d.pack)
	} else {
		d.alertType, d.data, err = d.alert()
	}
	if err != nil {
		return err
	}
	sys, err := start(cmd, f)
	if err != nil {
		return explain(err)
	}
	result, err := sys.investigate(cmd, d)
	if err == nil && (d.slack || len(sys.host.Config.Current().System.Notifications.Routes) > 0) {
		err = sys.delivered(cmd.Context(), d.slack)
	}
	if cmd.Context().Err() != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "interrupted; to continue: %s\n", f.restart())
	}
	if keep && err == nil {
		fmt.Fprintf(cmd.OutOrStdout(), "\nThe system keeps running: UI %s, page %s\nIn another terminal:\n  %s\nTo stop, press Ctrl-C.\n",
			sys.uiAddress(), sys.httpAddress("/"), sys.hints(f, siblingProgram("starter")+" report "+command.ShellWord(result.ID)))
		err = sys.wait(cmd.Context())
	}
	if err = errors.Join(err, sys.stop()); err != nil {
		return err
	}
	if !keep {
		fmt.Fprintf(cmd.OutOrStdout(), "\nTo read this investigation again:\n  %s\nTo see it in the browser, start\n  %s\n"+
			"and open the page. All its data is in %s, which you can delete.\n", sys.reread(result.ID), f.restart(), f.host.Data)
		next := siblingProgram("dev") + " for your own investigations."
		switch {
		case d.pack != "":
			next = fmt.Sprintf("%s init --pack %s to connect your own system.", siblingProgram("starter"), d.pack)
		case d.alertType != sampleIncident:
			next = siblingProgram("dev") + " with the same --config, and investigate your own alerts."
		}
		fmt.Fprintf(cmd.OutOrStdout(), "Next: run %s\n", next)
	}
	if result.Status != agent.StatusCompleted && terminal.IsTerminal(cmd.OutOrStdout()) { // which has shown why
		return fmt.Errorf("the investigation ended with the status %s", result.Status)
	}
	if result.Status != agent.StatusCompleted {
		return fmt.Errorf("the investigation ended with the status %s: %s", result.Status, result.Error)
	}
	return nil
}

// restart is the command that starts a system with the data of the demo.
func (f flags) restart() string {
	line := siblingProgram("dev") + " --data " + command.ShellWord(f.host.Data)
	if f.host.Config != "" {
		line += " --config " + command.ShellWord(absolute(f.host.Config))
	}
	return line
}

// reread is the command that prints the report of an investigation without Temporal.
func (s *system) reread(id string) string {
	return fmt.Sprintf("%s report %s --store %s", siblingProgram("starter"), command.ShellWord(id), command.ShellWord(s.storePath))
}

// investigate runs the sample chain and shows its progress.
func (s *system) investigate(cmd *cobra.Command, d demoOptions) (record.Investigation, error) {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	what := wire.Start{
		Workflow: fmt.Sprintf("%s-%s", strings.TrimSuffix(d.alertType, "-incident"), time.Now().UTC().Format("20060102-150405")),
		Request:  agent.Request{AlertType: d.alertType, Provider: d.provider, Again: true}, Data: d.data,
	}
	what.Know(s.host.Config.Current())
	h, err := s.host.System().Start(ctx, what)
	if err != nil {
		return record.Investigation{}, fmt.Errorf("start the investigation: %w", err)
	}
	fmt.Fprintf(out, "Investigation %s\n", h.Workflow)
	if ui := s.uiURL(); ui != "" {
		fmt.Fprintf(out, "In the Temporal UI, while it runs: %s/namespaces/default/workflows/%s\n", ui, h.Workflow)
	}
	if d.slack {
		if err := s.announce(ctx, h.ID()); err != nil {
			return record.Investigation{}, err
		}
	}
	if d.open {
		s.open(out, s.httpAddress("/#/"+url.PathEscape(h.ID())))
	}
	if p, ok := pack.Named(d.pack); ok && d.provider == "" {
		played, _ := p.Demo()
		fmt.Fprintln(out, "The model is scripted (no key, no network).", played.Origin())
	}
	if d.provider == "" && d.alertType == sampleIncident {
		fmt.Fprintln(out, "The model is scripted (no key, no network); the tools and everything else are real.")
	}
	return s.watch(ctx, h, terminal.Detect(out, os.Getenv))
}

// announce begins a thread for an investigation in the first channel of the configuration.
func (s *system) announce(ctx context.Context, id string) error {
	channels := slices.Sorted(maps.Keys(s.host.Config.Current().System.Slack.Channels))
	_, _, err := s.host.Store.AddChatMessage(ctx, record.ChatMessage{
		Investigation: id, Kind: record.ChatThread, Channel: channels[0], State: record.ChatOpen,
	})
	return err
}

// deliveryTime limits the wait for messages after the end.
const deliveryTime = time.Minute

// delivered waits until the messages about the investigation have been sent: the report in Slack, if this process is connected to it,
// and notifications. It does not wait for another attempt after a failed one.
func (s *system) delivered(ctx context.Context, toSlack bool) error {
	ctx, cancel := context.WithTimeout(ctx, deliveryTime)
	defer cancel()
	news, stop := s.host.Store.AnyNews() // none gets lost, because this process writes them
	defer stop()
	for {
		due, err := s.host.Store.DueNotifications(ctx, 1)
		open := len(due)
		if err == nil && toSlack {
			var threads []record.ChatMessage
			threads, err = s.host.Store.ChatThreads(ctx)
			open += len(threads)
		}
		if err != nil || open == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.New("some messages have not been sent: the log says why")
		case <-news:
		}
	}
}

// open opens the page, or prints its URL if that is not possible.
func (s *system) open(out io.Writer, page string) {
	if err := command.OpenBrowser(page); err != nil {
		fmt.Fprintf(out, "Open %s (could not open a browser: %v)\n", page, err)
	}
}

// watch shows an investigation until it ends. If the request was refused, there is no record to watch, and the failure says why.
func (s *system) watch(ctx context.Context, h wire.Handle, opts terminal.Options) (record.Investigation, error) {
	id := h.ID()
	watching, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		err := s.host.Client.GetWorkflow(watching, h.Workflow, h.First).Get(watching, nil)
		if _, missing := s.host.Store.Investigation(watching, id); err != nil && errors.Is(missing, record.ErrNotFound) {
			cancel(err)
		}
	}()
	result, err := terminal.Watch(opts, func(take func(store.Update) error) error { return s.host.Store.Follow(watching, id, 0, take) })
	if ctx.Err() == nil {
		err = cmp.Or(context.Cause(watching), err)
	}
	if err == nil {
		err = s.showEnd(ctx, result, opts)
	}
	return result, err
}

// showEnd prints the brief and the command for the whole report. Where there is no terminal, it prints the report.
func (s *system) showEnd(ctx context.Context, r record.Investigation, opts terminal.Options) error {
	if opts.Width == 0 {
		r.Error = "" // the error of the command has it
		return terminal.End(r, opts)
	}
	sys := s.host.System()
	w, err := sys.Outcome(ctx, r.ID)
	if err != nil {
		return err
	}
	whole, err := report.Checked(ctx, w, terminal.Summary(r), sys.Evidence)
	if err != nil {
		return err
	}
	text, cut := whole.Short()
	if err := terminal.Brief(text, opts); err != nil || !cut {
		return err
	}
	_, err = fmt.Fprintf(opts.Out, "\nWhole report: %s report %s --store %s\n",
		siblingProgram("starter"), command.ShellWord(r.ID), command.ShellWord(s.storePath))
	return err
}
