package local

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/doctor"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/kit/ratelimit"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// toolbox returns the tools of a configuration. The caller must close it.
func toolbox(ctx context.Context, c *base.CLI, cfg *configuration.Config) (base.Toolbox, error) {
	data, err := c.DataFolder()
	if err != nil {
		return nil, err
	}
	if err := app.PrepareSample(data); err != nil {
		c.Say("starter: %v", err) // only the sample's own tools are affected
	}
	var elsewhere []tool.Spec // Go tools in the workers' program, if their store is available
	st, err := storeOf(ctx, c)
	if err == nil && st != nil {
		elsewhere, err = st.ProgramTools(ctx)
	}
	if err != nil {
		c.Say("warning: cannot list the tools of the workers' program: %v", err)
	}
	return tools{doctor.NewToolbox(doctor.ToolboxOptions{
		Config: cfg, Shared: shared{c}, Keeper: app.Keeper(), Elsewhere: elsewhere, Logger: slog.New(slog.DiscardHandler),
	})}, nil
}

// tools is a toolbox that returns calls in the form that commands use.
type tools struct{ *doctor.Toolbox }

// Prepare implements base.Toolbox.
func (t tools) Prepare(ctx context.Context, agentName, name, arguments string) (base.ToolCall, error) {
	call, err := t.Toolbox.Prepare(ctx, agentName, name, arguments)
	if err != nil {
		return base.ToolCall{}, err
	}
	return base.ToolCall{Decision: call.Decision, MayApprove: call.MayApprove, Make: call.Make}, nil
}

// leftOut lists the tools that agents do not get because of their names. It asks no server.
func leftOut(ctx context.Context, c *base.CLI, cfg *configuration.Config) ([]string, error) {
	box := doctor.NewToolbox(doctor.ToolboxOptions{Config: cfg, Shared: shared{c}, Logger: slog.New(slog.DiscardHandler)})
	defer box.Close()
	return box.LeftOut(ctx)
}

// storeOf returns the workers' store, or nil without one and with the API.
func storeOf(ctx context.Context, c *base.CLI) (*store.Store, error) {
	if d, ok := c.Client().(*direct); ok {
		return d.Store(ctx)
	}
	return nil, nil
}

// shared is the state that tools share with the workers through their store, which is opened on demand.
type shared struct{ *base.CLI }

// Reserve reserves a slot of a rate limit. Without a store it prints a warning instead.
func (s shared) Reserve(ctx context.Context, res ratelimit.Reservation) (wait time.Duration, err error) {
	st, err := storeOf(ctx, s.CLI)
	if err != nil {
		return 0, err
	}
	if st == nil {
		s.Say("warning: no store found (set --store), so the rate limit of %s is not enforced", res.Tool)
		return 0, nil
	}
	return st.Reserve(ctx, res)
}

// LastOffer returns a server's last tool list, or nothing without a store.
func (s shared) LastOffer(ctx context.Context, server string) (offer tool.Catalogue, err error) {
	st, err := storeOf(ctx, s.CLI)
	if err != nil || st == nil {
		return offer, err
	}
	return st.LastOffer(ctx, server)
}

// Audit writes to the audit trail if the store is available.
func (s shared) Audit(ctx context.Context, acts ...audit.Act) error {
	st, err := storeOf(ctx, s.CLI)
	if err != nil || st == nil {
		return err
	}
	return st.Audit(ctx, acts...)
}

// storeDangers reports insecure connections to the workers' database, as set in the configuration or for starter itself.
func storeDangers(c *base.CLI, cfg *configuration.Config) config.Findings {
	finding := config.Finding{Path: "--store, INQUEST_STORE"}
	dsn := c.Store
	if dsn == "" {
		target, err := cfg.Store()
		if err != nil || target.Postgres == "" { // the configuration check reports errors
			return nil
		}
		finding.Path, dsn = "system.store.postgres.dsn", target.Postgres
	}
	if !store.IsDSN(dsn) {
		return nil
	}
	secrecy, err := store.SecrecyOf(dsn)
	switch {
	case errors.Is(err, store.ErrCleartext):
		finding.Severity, finding.Message = config.SeverityError, err.Error()
	case err == nil && secrecy != store.Verified:
		finding.Severity, finding.Message = config.SeverityDanger, string(secrecy)+"; use sslmode=verify-full"
	default:
		return nil
	}
	return config.Findings{finding}
}
