package store

import (
	"log/slog"
	"net/url"
	"strings"
)

// Options say where the store is: a SQLite file or a PostgreSQL database.
type Options struct {
	// Path of the SQLite file. Its folder is made if absent.
	Path string
	// DSN of the PostgreSQL database: postgres://user:password@host:port/database?setting=value,
	// with the settings of libpq (sslmode …) and of the session (search_path …). It is a secret.
	DSN string
	// Adopt takes over a SQLite file that another host has marked, because it was
	// moved here: a restored backup, a container with a new name.
	Adopt bool
	// Logger is told of migrations and outages; nil = nobody.
	Logger *slog.Logger
}

// At returns the options for a store as users name it: by a postgres:// address,
// or else by the path of a SQLite file.
func At(target string) Options {
	if IsDSN(target) {
		return Options{DSN: target}
	}
	return Options{Path: target}
}

// IsDSN reports whether a store is named by the address of a database, and not by a path.
func IsDSN(target string) bool {
	return strings.HasPrefix(target, "postgres://") || strings.HasPrefix(target, "postgresql://")
}

// HasPassword reports whether an address has a password in it, or may have.
func HasPassword(target string) bool {
	if !IsDSN(target) {
		return false
	}
	u, ok := parseDSN(target)
	if !ok {
		return true
	}
	_, set := u.User.Password()
	return set || u.Query().Has("password")
}

// String names the store for people: the path, or the address without its
// password and settings.
func (o Options) String() string {
	if o.DSN == "" {
		return o.Path
	}
	u, ok := parseDSN(o.DSN)
	if !ok {
		return "postgres://…"
	}
	shown := url.URL{Scheme: "postgres", Host: u.Host, Path: u.Path}
	if name := u.User.Username(); name != "" {
		shown.User = url.User(name)
	}
	return shown.String()
}

// parseDSN takes an address apart if it is certain what in it is the password: a
// password with an unescaped "@", "/" or "?" would pass for a host or a path, and
// all of libpq's other spelling ("host=h password=p") for a path.
func parseDSN(dsn string) (u *url.URL, ok bool) {
	u, err := url.Parse(dsn)
	if err != nil || !IsDSN(dsn) || strings.Contains(dsn, "#") {
		return nil, false
	}
	ats := strings.Count(dsn, "@")
	return u, ats == 0 || (ats == 1 && u.User != nil)
}
