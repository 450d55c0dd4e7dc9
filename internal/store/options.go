package store

import (
	"log/slog"
	"net/url"
	"strings"
)

// Options says where the store is: a SQLite file or a PostgreSQL database.
type Options struct {
	// Path is the SQLite file. Its folder is created if absent.
	Path string
	// DSN is the address of the PostgreSQL database: postgres://user:password@host:port/database?setting=value, with the settings
	// of libpq (sslmode …) and of the session (search_path …). It is a secret.
	DSN string
	// Adopt takes over a SQLite file that another host has marked, for example after restoring a backup or renaming a container.
	Adopt bool
	// Logger logs migrations and outages; nil means no logging.
	Logger *slog.Logger
}

// At returns the options for a store as users name it: by a postgres:// address or the path of a SQLite file.
func At(target string) Options {
	if IsDSN(target) {
		return Options{DSN: target}
	}
	return Options{Path: target}
}

// IsDSN reports whether a store is named by a database address, not by a path.
func IsDSN(target string) bool {
	return strings.HasPrefix(target, "postgres://") || strings.HasPrefix(target, "postgresql://")
}

// HasPassword reports whether an address contains a password, or might.
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

// String returns the store's name for people: the path, or the address without password and settings.
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

// parseDSN parses an address if it is certain which part is the password. A password with an unescaped "@", "/" or "?" could be
// mistaken for a host or a path. The whole address could, too, in libpq's other format ("host=h password=p").
func parseDSN(dsn string) (u *url.URL, ok bool) {
	u, err := url.Parse(dsn)
	if err != nil || !IsDSN(dsn) || strings.Contains(dsn, "#") {
		return nil, false
	}
	ats := strings.Count(dsn, "@")
	return u, ats == 0 || (ats == 1 && u.User != nil)
}
