package config

import (
	"cmp"
	"fmt"
	"strings"
)

// System holds the settings of the processes themselves.
type System struct {
	// Store says where content is kept: in SQLite, on one host, or in PostgreSQL.
	Store Store `yaml:"store"`
	// Limits limit what requests may contain.
	Limits Limits `yaml:"limits"`
	// Environment is the name of this installation: production, staging. A rule of remembered approvals may apply to
	// one environment.
	Environment string `yaml:"environment" default:"none"`

	// HTTP says who may use the HTTP API, and under which host names.
	HTTP HTTP `yaml:"http"`

	_ struct{} `later:"runbooks cost_estimation retention holidays dashboard_url github slack allowed_ws_origins prompt_caching"`
}

// Limits limit what requests may contain.
type Limits struct {
	// Data is the maximum size of a request's data. Larger data are refused, unless the request attaches them: agents
	// then see the beginning and read the rest in pages.
	Data *int `yaml:"data" min:"1" unit:"bytes" default:"262144"`
}

// defaultMaxData is about 64,000 tokens, which each agent is shown with every call.
const defaultMaxData = 256 << 10

// MaxData returns the maximum size of a request's data, in bytes.
func (c *Config) MaxData() int { return cmp.Or(value(c.System.Limits.Data), defaultMaxData) }

// Store says where content is kept. Set only one of the two.
type Store struct {
	// SQLite is the path of the database file.
	SQLite string `yaml:"sqlite" default:"inquest.db in the data directory"`
	// Postgres says how to reach PostgreSQL.
	Postgres Postgres `yaml:"postgres"`
}

// Postgres says how to reach PostgreSQL.
type Postgres struct {
	// DSN is a connection string or URL. Use a variable for the secrets in it: "{{.DATABASE_URL}}".
	DSN string `yaml:"dsn,late"`
}

func (s Store) validate(p path, v *validator) {
	if s.SQLite != "" && s.Postgres.DSN != "" {
		v.Errorf(p, "sqlite and postgres are both given: content is kept in one store")
	}
}

// StoreTarget is the store to open. The zero value means that none is configured.
type StoreTarget struct {
	SQLite   string // path
	Postgres string // connection string or URL, with its secrets
}

// String hides the connection string.
func (t StoreTarget) String() string {
	if t.Postgres != "" {
		return "PostgreSQL"
	}
	return t.SQLite
}

// Store returns the configured store, with variables expanded from the current environment. An error names the
// variable, never a value.
func (c *Config) Store() (StoreTarget, error) {
	dsn, missing, err := c.expand(c.System.Store.Postgres.DSN)
	switch {
	case err != nil:
		return StoreTarget{}, fmt.Errorf("system.store.postgres.dsn: %w", err)
	case len(missing) > 0:
		return StoreTarget{}, fmt.Errorf("system.store.postgres.dsn: variable %s is not set", strings.Join(missing, ", "))
	case dsn == "" && c.System.Store.Postgres.DSN != "":
		return StoreTarget{}, fmt.Errorf("system.store.postgres.dsn: %s is empty", c.System.Store.Postgres.DSN)
	}
	return StoreTarget{SQLite: c.System.Store.SQLite, Postgres: dsn}, nil
}
