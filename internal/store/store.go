// Package store is Inquest's durable storage: transcripts, blobs, tool catalogues, records and the usage ledger. It is one SQL
// implementation; code specific to SQLite or PostgreSQL is in sqlite.go and postgres.go.
package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Errors that callers branch on.
var (
	// ErrNotFound means that there is no such record or blob.
	ErrNotFound = record.ErrNotFound
	// ErrStaleRun means that another workflow run has taken over the execution (after a Temporal reset). The old run must not write
	// any more.
	ErrStaleRun = transcript.ErrStaleRun
	// ErrConflict means that a key of the step belongs to another step of the same run.
	ErrConflict = errors.New("key is taken by another step")
	// ErrUnavailable means that the database does not answer or is too busy. Every call of the store may be retried: a call that
	// was carried out changes nothing the second time.
	ErrUnavailable = record.ErrUnavailable
	// ErrOtherHost means that the SQLite file belongs to another host.
	ErrOtherHost = errors.New("a SQLite store serves one host")
	// ErrNewerSchema means that a newer program has migrated the database.
	ErrNewerSchema = errors.New("written by a newer version of this program")
)

// errDuplicate means that a unique index refused a row.
var errDuplicate = errors.New("the row already exists")

// Store is an open database. Its methods are safe for concurrent use. Several processes may open it: with SQLite on one host, with
// PostgreSQL on any.
type Store struct {
	*base
	stop func() // ends the background work

	// The parts, by subject: their methods are the store's.
	journal        // transcripts, and the letters to agents
	investigations // their records, what they wait for, and the search
	outcomes       // of stages, agents and judges
	alerts         // of webhooks
	audits
	chats // messages in chats, and what people do there
	blobs // and catalogues of tools
	limits
	memories
	lessons // what investigations taught
	rules   // of approvals
	agents  // virtual ones, and workers
	threads // conversations
}

// The parts of a store.
type (
	journal        struct{ *base }
	investigations struct{ *base }
	outcomes       struct{ *base }
	alerts         struct{ *base }
	audits         struct{ *base }
	chats          struct{ *base }
	blobs          struct{ *base }
	limits         struct{ *base }
	memories       struct{ *base }
	lessons        struct{ *base }
	rules          struct{ *base }
	agents         struct{ *base }
	threads        struct{ *base }
)

// base is what all parts of a store share.
type base struct {
	db     database
	hub    *hub
	logs   logs
	logger *slog.Logger
	id     string
	time   *timekeeper
}

// Open opens the database and creates or upgrades its tables if needed. Errors of the store never contain the password of
// Options.DSN.
func Open(ctx context.Context, opts Options) (*Store, error) {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	open := openSQLite
	if opts.DSN != "" {
		open = openPostgres
	}
	db, err := open(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", opts, err)
	}
	b := &base{db: db, hub: newHub(), logger: opts.Logger, time: &timekeeper{local: time.Now}}
	s := &Store{
		base: b, journal: journal{b}, investigations: investigations{b}, outcomes: outcomes{b}, alerts: alerts{b}, audits: audits{b},
		blobs: blobs{b}, limits: limits{b}, memories: memories{b}, lessons: lessons{b}, rules: rules{b},
		agents: agents{b}, chats: chats{b}, threads: threads{b},
	}
	if s.id, err = s.note(ctx, "id", rand.Text()); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", opts, err), db.close())
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	var watcher sync.WaitGroup
	watcher.Go(func() { db.watch(life, s.hub) })
	s.stop = func() {
		end()
		watcher.Wait()
	}
	return s, nil
}

// Close ends every Follow with an error and closes the database.
func (s *Store) Close() error {
	s.stop()
	err := s.db.close()
	s.hub.wakeAll() // followers look and find it closed
	return doing(err, "close store")
}

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

//go:embed migrations/*/*.sql
var migrations embed.FS

// requiredSchema is the newest migration that every program must know to use a store. Migrations with a higher number only
// expand the schema: they add tables, columns with defaults, indexes and triggers. They are recorded in expansionsTable,
// which older programs do not read, so workers of the previous release keep working on a store that a newer one has
// expanded. To contract the schema (drop or rename something), add a migration and set requiredSchema to its number: from
// then on, programs that do not know it refuse the store.
const requiredSchema = 26

const (
	requiredTable   = goose.DefaultTablename
	expansionsTable = "goose_expansions"
)

// schema brings tables to the newest version that a program knows.
type schema struct {
	db       *sql.DB
	dialect  goose.Dialect
	files    fs.FS
	required int64 // see requiredSchema
	logger   *slog.Logger
	options  []goose.ProviderOption
}

// migrate brings the tables to the newest version. The caller ensures that no other process migrates at the same time.
func migrate(
	ctx context.Context, db *sql.DB, dialect goose.Dialect, folder string, logger *slog.Logger, opts ...goose.ProviderOption,
) error {
	files, err := fs.Sub(migrations, "migrations/"+folder)
	if err != nil {
		return err
	}
	return schema{db, dialect, files, requiredSchema, logger, opts}.migrate(ctx)
}

func (s schema) migrate(ctx context.Context) error {
	required, newest, err := s.provider(requiredTable, func(version int64) bool { return version <= s.required })
	if err != nil {
		return err
	}
	expansions, last, err := s.provider(expansionsTable, func(version int64) bool { return version > s.required })
	if err != nil && !errors.Is(err, goose.ErrNoMigrations) {
		return err
	}
	if err := refuseNewer(ctx, required, max(newest, last)); err != nil {
		return err
	}
	if err := s.requireExpansions(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	for _, provider := range []*goose.Provider{required, expansions} {
		if provider == nil {
			continue
		}
		results, err := provider.Up(ctx)
		if err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		for _, r := range results {
			s.logger.InfoContext(ctx, "store migrated", "version", r.Source.Version)
		}
	}
	return nil
}

// provider returns a provider for some of the migrations, which it records in a table, and the highest of their numbers.
func (s schema) provider(table string, include func(version int64) bool) (p *goose.Provider, newest int64, err error) {
	versions, err := fs.Glob(s.files, "*.sql")
	if err != nil {
		return nil, 0, err
	}
	var others []int64
	for _, name := range versions {
		version, err := goose.NumericComponent(name)
		switch {
		case err != nil:
			return nil, 0, err
		case include(version):
			newest = max(newest, version)
		default:
			others = append(others, version)
		}
	}
	options := append([]goose.ProviderOption{
		goose.WithSlog(s.logger), goose.WithDisableGlobalRegistry(true), goose.WithTableName(table), goose.WithExcludeVersions(others),
	}, s.options...)
	p, err = goose.NewProvider(s.dialect, s.db, s.files, options...)
	return p, newest, err
}

// requireExpansions records expansions as required if their number is no longer above the required one.
func (s schema) requireExpansions(ctx context.Context) error {
	exists, err := hasTable(ctx, s.db, s.dialect, expansionsTable)
	if err != nil || !exists {
		return err
	}
	_, err = s.db.ExecContext(ctx, `INSERT INTO `+requiredTable+` (version_id, is_applied)
		SELECT version_id, is_applied FROM `+expansionsTable+` WHERE version_id > 0 AND version_id <= $1
		AND version_id NOT IN (SELECT version_id FROM `+requiredTable+`)`, s.required)
	return err
}

// refuseNewer returns an error if the database has a required migration above known, this program's newest one.
func refuseNewer(ctx context.Context, provider *goose.Provider, known int64) error {
	version, err := provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if version > known {
		return fmt.Errorf("it requires schema %d, but this program supports only %d: %w. Install the version that wrote it, or a newer one",
			version, known, ErrNewerSchema)
	}
	return nil
}

// schemaOf returns a database's newest migration and its newest required one.
func schemaOf(ctx context.Context, db *sql.DB, dialect goose.Dialect) (newest, required int64, err error) {
	const latest = `SELECT COALESCE(MAX(version_id), 0) FROM %s WHERE is_applied`
	if err := db.QueryRowContext(ctx, fmt.Sprintf(latest, requiredTable)).Scan(&required); err != nil {
		return 0, 0, err
	}
	exists, err := hasTable(ctx, db, dialect, expansionsTable)
	if err != nil || !exists {
		return required, required, err
	}
	err = db.QueryRowContext(ctx, fmt.Sprintf(latest, expansionsTable)).Scan(&newest)
	return max(newest, required), required, err
}

func hasTable(ctx context.Context, db querier, dialect goose.Dialect, name string) (exists bool, err error) {
	query := `SELECT to_regclass($1) IS NOT NULL`
	if dialect == goose.DialectSQLite3 {
		query = `SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1)`
	}
	err = db.QueryRowContext(ctx, query, name).Scan(&exists)
	return exists, err
}

// KnownSchema returns the number of the newest migration in this program.
func KnownSchema() (newest int64) {
	files, _ := fs.Glob(migrations, "migrations/sqlite/*.sql") // fails only for a bad pattern
	for _, file := range files {
		version, _ := goose.NumericComponent(file) // a test parses all names
		newest = max(newest, version)
	}
	return newest
}
