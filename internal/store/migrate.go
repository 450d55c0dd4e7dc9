package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/sqlite/*.sql
var migrations embed.FS

// setUp makes the database this host's and brings its tables to the newest
// version: all of it or nothing, however many processes start at once. db must be
// a pool of one connection, because the transaction is around whatever goose does
// on it.
func setUp(ctx context.Context, db *sql.DB, opts Options) error {
	if _, err := db.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	end := "COMMIT"
	err := claimAndMigrate(ctx, db, opts)
	if err != nil {
		end = "ROLLBACK"
	}
	_, endErr := db.ExecContext(context.WithoutCancel(ctx), end)
	if err != nil {
		return err // a ROLLBACK that fails finds nothing to undo
	}
	return endErr
}

func claimAndMigrate(ctx context.Context, db *sql.DB, opts Options) error {
	mark := hostMark()
	if err := checkHost(ctx, db, mark, opts.Adopt); err != nil {
		return err
	}
	if err := migrate(ctx, db, opts.Logger); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return setHost(ctx, db, mark)
}

func migrate(ctx context.Context, db *sql.DB, logger *slog.Logger) error {
	files, err := fs.Sub(migrations, "migrations/sqlite")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files,
		goose.WithSlog(logger),
		goose.WithDisableGlobalRegistry(true),
		goose.WithIsolateDDL(true), // no transactions of its own within ours
	)
	if err != nil {
		return err
	}
	if err := refuseNewer(ctx, db, provider.ListSources()); err != nil {
		return err
	}
	results, err := provider.Up(ctx)
	for _, r := range results {
		logger.InfoContext(ctx, "store migrated", "version", r.Source.Version)
	}
	return err
}

// refuseNewer refuses a database with migrations that this program does not know.
func refuseNewer(ctx context.Context, q querier, known []*goose.Source) error {
	exists, err := tableExists(ctx, q, goose.DefaultTablename)
	if err != nil || !exists {
		return err
	}
	var version int64
	err = q.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM `+goose.DefaultTablename).Scan(&version)
	if err != nil {
		return err
	}
	if newest := known[len(known)-1].Version; version > newest {
		return fmt.Errorf("its schema is %d, and this program knows %d: %w", version, newest, ErrNewerSchema)
	}
	return nil
}

func tableExists(ctx context.Context, q querier, name string) (exists bool, err error) {
	const query = `SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1)`
	err = q.QueryRowContext(ctx, query, name).Scan(&exists)
	return exists, err
}
