package main

import (
	"errors"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/store"
)

// storeDangers says how the workers' database is reached, where that is known here:
// by the configuration, or as starter itself would.
func (c *cli) storeDangers(cfg *config.Config) config.Findings {
	finding := config.Finding{Path: "--store, INQUEST_STORE"}
	dsn := c.store
	if dsn == "" {
		target, err := cfg.Store()
		if err != nil || target.Postgres == "" { // what is wrong with it the configuration says
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
		finding.Severity, finding.Message = config.SeverityDanger, string(secrecy)+"; instead: sslmode=verify-full"
	default:
		return nil
	}
	return config.Findings{finding}
}
