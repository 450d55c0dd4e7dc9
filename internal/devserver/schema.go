package devserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"regexp"

	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	sqliteschema "go.temporal.io/server/schema/sqlite"
)

var errOtherSchema = errors.New("other tables")

// ensureSchema creates the tables in an empty database. In any other database, it compares the tables with those that it would
// create. Versions are not compared, because most releases have the same tables.
func ensureSchema(ctx context.Context, db *sql.DB) error {
	have, err := readSchema(ctx, db)
	if err != nil {
		return err
	}
	if len(have) == 0 {
		return createSchema(ctx, db)
	}
	want, err := freshSchema(ctx)
	if err != nil {
		return err
	}
	if !maps.Equal(have, want) {
		return errOtherSchema
	}
	return nil
}

// createSchema uses one transaction, so that a process killed in between leaves an empty database rather than half of one.
func createSchema(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := sqliteschema.SetupSchemaOnDB(execOnly{tx: tx}); err != nil {
		return fmt.Errorf("create the tables: %w", err)
	}
	return tx.Commit()
}

// execOnly is the part of an AdminDB that SetupSchemaOnDB uses. The plugin's own AdminDB would keep a connection open permanently.
type execOnly struct {
	sqlplugin.AdminDB
	tx *sql.Tx
}

func (e execOnly) Exec(stmt string, args ...any) error {
	_, err := e.tx.Exec(stmt, args...)
	return err
}

func freshSchema(ctx context.Context) (map[string]string, error) {
	db, err := sql.Open(sqlite.PluginName, ":memory:")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // a second connection would open a different, empty database
	if err := createSchema(ctx, db); err != nil {
		return nil, err
	}
	return readSchema(ctx, db)
}

// readSchema maps every table, index and trigger to its definition, without comments and formatting.
func readSchema(ctx context.Context, db *sql.DB) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_master`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	schema := map[string]string{}
	for rows.Next() {
		var name, def string
		if err := rows.Scan(&name, &def); err != nil {
			return nil, err
		}
		schema[name] = layout.ReplaceAllString(def, " ")
	}
	return schema, rows.Err()
}

var layout = regexp.MustCompile(`(\s|--[^\n]*)+`)
