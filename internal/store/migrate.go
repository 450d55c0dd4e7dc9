package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"
)

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
