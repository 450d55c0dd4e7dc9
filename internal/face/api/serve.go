package api

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"time"

	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/doctor"
	"github.com/inquest-dev/inquest/internal/metrics"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
)

// HostOptions says what to serve for a host.
type HostOptions struct {
	Address string // of the API; empty means that it is not served
	UI      string // address of Temporal's UI; empty means none
	Slack   bool   // connect to Slack
	// SlackAPI is the address of Slack's API; empty means the real one.
	SlackAPI string
	Metrics  *metrics.Metrics
	Logger   *slog.Logger
}

// OfHost serves the API of a host, and its connection to Slack, until ctx ends. It returns the address of the API.
func OfHost(ctx context.Context, h *app.Host, opts HostOptions) (string, error) {
	address, ui, m, logger := opts.Address, opts.UI, opts.Metrics, opts.Logger
	if u, err := url.Parse(ui); ui != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return "", &command.UsageError{Err: fmt.Errorf("--temporal-ui %q: expected the URL of Temporal's UI", ui)}
	} else if ui != "" {
		ui = u.JoinPath("namespaces", url.PathEscape(h.Namespace()), "workflows").String()
	}
	gauges(ctx, h.Store, m)
	s, err := New(ctx, Options{
		System: h.System(), Config: h.Config.Current, TemporalUI: ui, Metrics: m.Handler(), Logger: logger, WithoutHTTP: address == "",
		Tools: func(ctx context.Context, cfg *configuration.Config) (Tools, error) {
			elsewhere, err := h.Store.ProgramTools(ctx)
			if err != nil {
				return nil, err
			}
			return doctor.NewToolbox(doctor.ToolboxOptions{
				Config: cfg, Shared: h.Store, Keeper: app.Keeper(), Elsewhere: elsewhere, Logger: slog.New(slog.DiscardHandler),
			}), nil
		},
	})
	if err != nil {
		return "", &command.UsageError{Err: fmt.Errorf("--http: %w", err)}
	}
	if opts.Slack {
		if err := s.runSlack(ctx, opts.SlackAPI); err != nil {
			return "", &command.UsageError{Err: err}
		}
	}
	if address == "" {
		return "", nil
	}
	listener, err := s.Listen(address)
	if err != nil {
		return "", &command.UsageError{Err: fmt.Errorf("--http %s: %w", address, err)}
	}
	go func() {
		if err := s.Serve(ctx, listener); err != nil {
			logger.Error("the API server stopped", "error", err)
		}
	}()
	return listener.Addr().String(), nil
}

// gaugeTimeout limits how long a scrape waits for the store.
const gaugeTimeout = 2 * time.Second

// gauges adds gauges of pending items in the whole fleet, the same from every process. They are NaN if the store does not answer.
func gauges(ctx context.Context, st *store.Store, m *metrics.Metrics) {
	for name, g := range map[string]struct {
		about string
		of    func(record.Waiting) int
	}{
		"inquest_approvals_open": {"tool calls waiting for approval", func(w record.Waiting) int { return len(w.Approvals) }},
		"inquest_questions_open": {"questions waiting for an answer", func(w record.Waiting) int { return len(w.Questions) }},
		"inquest_outages":        {"agents waiting for a provider or a tool server", func(w record.Waiting) int { return len(w.Outages) }},
	} {
		m.Read(name, g.about, func() float64 {
			ctx, cancel := context.WithTimeout(ctx, gaugeTimeout)
			defer cancel()
			all, err := st.Waiting(ctx, "")
			if err != nil {
				return math.NaN()
			}
			n := 0
			for _, w := range all {
				n += g.of(w)
			}
			return float64(n)
		})
	}
}
