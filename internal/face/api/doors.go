package api

import (
	"context"
	"log/slog"
	"reflect"
	"sync"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/configuration"
)

// doors returns the door for the configuration in force, so tokens and identity providers can change without a restart.
type doors struct {
	ctx    context.Context
	config func() *configuration.Config
	logger *slog.Logger

	mu   sync.Mutex
	of   *configuration.Config
	http config.HTTP
	last *door
}

func newDoors(ctx context.Context, opts Options) (*doors, error) {
	d := &doors{ctx: ctx, config: opts.Config, logger: opts.Logger, of: opts.Config()}
	d.http = d.of.System.HTTP
	var err error
	d.last, err = newDoor(ctx, d.http)
	return d, err
}

// now returns the current door. A door that authenticates is never replaced by one that does not, because other hosts may reach the API:
// if the last token is removed, nobody gets in.
func (d *doors) now() *door {
	d.mu.Lock()
	defer d.mu.Unlock()
	cfg := d.config()
	if cfg == d.of {
		return d.last
	}
	d.of = cfg
	next := cfg.System.HTTP
	if reflect.DeepEqual(next, d.http) {
		return d.last
	}
	d.http = next
	if next.Open() && !d.last.open {
		d.last = &door{provider: newProvider(d.ctx, "", "")}
		d.logger.Warn("the API now refuses all requests: the new configuration has neither tokens nor an identity provider; to serve " +
			"without authentication, restart the process")
		return d.last
	}
	door, err := newDoor(d.ctx, next)
	if err != nil {
		d.logger.Error("the API keeps its previous tokens", "error", err)
		return d.last
	}
	d.last = door
	d.logger.Info("the API now uses the tokens and groups of the new configuration", "tokens", len(next.Tokens))
	return d.last
}
