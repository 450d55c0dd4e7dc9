package config

import (
	"cmp"
	"fmt"
	"strings"
)

// System is what the processes themselves need.
type System struct {
	// Store says where content is kept: in SQLite, on one host, or in PostgreSQL.
	Store Store `yaml:"store"`
	// Limits bound what requests may bring.
	Limits Limits `yaml:"limits"`
	// Environment is what people call this installation: production, staging. A rule of remembered approvals may be for one.
	Environment string `yaml:"environment" default:"none"`

	// HTTP says who may use the HTTP API, and by which names.
	HTTP HTTP `yaml:"http"`

	_ struct{} `later:"runbooks cost_estimation retention holidays dashboard_url github slack allowed_ws_origins prompt_caching"`
}

// Limits bound what requests may bring.
type Limits struct {
	// Data is how large the data of a request may be. A larger one is refused, unless the request says
	// that it is attached: agents are then shown its beginning, and read the rest in pages.
	Data *int `yaml:"data" min:"1" unit:"bytes" default:"262144"`
}

// defaultMaxData is about 64,000 tokens, which each agent is shown with every call.
const defaultMaxData = 256 << 10

// MaxData is how large the data of a request may be, in bytes.
func (c *Config) MaxData() int { return cmp.Or(value(c.System.Limits.Data), defaultMaxData) }

// Store says where content is kept: one of the two.
type Store struct {
	// SQLite is the path of the database file.
	SQLite string `yaml:"sqlite" default:"inquest.db in the data directory"`
	// Postgres says how PostgreSQL is reached.
	Postgres Postgres `yaml:"postgres"`
}

// Postgres says how PostgreSQL is reached.
type Postgres struct {
	// DSN is a connection string or URL. What is secret in it belongs into a variable: "{{.DATABASE_URL}}".
	DSN string `yaml:"dsn,late"`
}

func (s Store) validate(p path, v *validator) {
	if s.SQLite != "" && s.Postgres.DSN != "" {
		v.Errorf(p, "sqlite and postgres are both given: content is kept in one store")
	}
}

// StoreTarget says which store to open; the zero value: none is configured.
type StoreTarget struct {
	SQLite   string // path
	Postgres string // connection string or URL, with its secrets
}

// String keeps the connection string to itself.
func (t StoreTarget) String() string {
	if t.Postgres != "" {
		return "PostgreSQL"
	}
	return t.SQLite
}

// Store says which store the configuration asks for, variables expanded from
// the environment as it is now. An error names the variable, never a value.
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
