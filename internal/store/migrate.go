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

//go:embed migrations/*/*.sql
var migrations embed.FS

// migrate brings the tables to the newest version. The caller sees to it that
// nobody else does at the same time.
func migrate(
	ctx context.Context, db *sql.DB, dialect goose.Dialect, folder string, logger *slog.Logger, opts ...goose.ProviderOption,
) error {
	files, err := fs.Sub(migrations, "migrations/"+folder)
	if err != nil {
		return err
	}
	opts = append(opts, goose.WithSlog(logger), goose.WithDisableGlobalRegistry(true))
	provider, err := goose.NewProvider(dialect, db, files, opts...)
	if err != nil {
		return err
	}
	if err := refuseNewer(ctx, provider); err != nil {
		return err
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	for _, r := range results {
		logger.InfoContext(ctx, "store migrated", "version", r.Source.Version)
	}
	return nil
}

// refuseNewer refuses a database with migrations that this program does not know.
func refuseNewer(ctx context.Context, provider *goose.Provider) error {
	version, err := provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	known := provider.ListSources()
	if newest := known[len(known)-1].Version; version > newest {
		return fmt.Errorf("its schema is %d, and this program knows %d: %w", version, newest, ErrNewerSchema)
	}
	return nil
}
