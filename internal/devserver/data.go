package devserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/headers"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	clusterName = "active"
	retention   = 30 * 24 * time.Hour // how long a closed workflow stays readable
)

// SchemaError means that a Temporal server with other tables wrote the data. There is no conversion.
type SchemaError struct {
	Dir     string
	Written string // version of the server that wrote the data; empty if unknown
	Running string // version of the server in this program
}

func (e *SchemaError) Error() string {
	by := "another version of the Temporal server"
	if e.Written != "" {
		by = "Temporal server " + e.Written
	}
	return fmt.Sprintf("data in %s was written by %s; the server in this program, %s, has different tables and cannot read it"+
		" (use a program with that version, or another data directory)", e.Dir, by, e.Running)
}

// data is the directory's content: temporal.db, and VERSION with the version that last ran on it.
type data struct {
	dir string
	sql *config.SQL
}

// openData creates the database if it is absent, and returns an error for one that this server cannot read.
func openData(ctx context.Context, dir string) (*data, error) {
	d := &data{dir: dir, sql: sqlConfig(filepath.Join(dir, "temporal.db"))}
	if err := makeFile(filepath.Join(dir, "temporal.db")); err != nil {
		return nil, fmt.Errorf("create the database: %w", err)
	}
	db, err := d.connect()
	if err != nil {
		return nil, err
	}
	defer db.Close()
	switch err := ensureSchema(ctx, db); {
	case errors.Is(err, errOtherSchema):
		return nil, &SchemaError{Dir: dir, Written: d.version(), Running: headers.ServerVersion}
	case err != nil:
		return nil, fmt.Errorf("database %s: %w", filepath.Join(dir, "temporal.db"), err)
	}
	return d, d.ensureNamespace()
}

// makeFile creates a file that only its owner can read. SQLite's default is more permissive. It never opens an existing file:
// closing that again would drop SQLite's locks.
func makeFile(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}

func (d *data) connect() (*sql.DB, error) {
	db, err := sql.Open(sqlite.PluginName, "file:"+d.sql.DatabaseName+"?_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return db, nil
}

// checkpoint writes the write-ahead log into the database, so that a stopped server leaves one file. Temporal keeps its connection
// until the process ends, so closing does not empty the log. Errors do not matter, because the next process also reads the log.
func (d *data) checkpoint() {
	db, err := d.connect()
	if err != nil {
		return
	}
	defer db.Close()
	_, _ = db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
}

// ensureNamespace writes the namespace into the database before the server starts. If it were registered through the API, the
// services would not know it until they refresh their caches. An existing namespace stays unchanged.
func (d *data) ensureNamespace() error {
	ns, err := sqliteschema.NewNamespaceConfig(clusterName, Namespace, false, nil)
	if err != nil {
		return fmt.Errorf("namespace %s: %w", Namespace, err)
	}
	ns.Detail.Config.Retention = durationpb.New(retention) // the default is 24 hours
	if err := sqliteschema.CreateNamespaces(d.sql, ns); err != nil {
		return fmt.Errorf("namespace %s: %w", Namespace, err)
	}
	return nil
}

// version returns the version of the server that last ran on the directory; empty if unknown.
func (d *data) version() string {
	b, err := os.ReadFile(d.versionFile())
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func (d *data) markVersion() error {
	if d.version() == headers.ServerVersion {
		return nil
	}
	err := os.WriteFile(d.versionFile(), []byte(headers.ServerVersion+"\n"), 0o600)
	if err != nil {
		return fmt.Errorf("record the server's version: %w", err)
	}
	return nil
}

func (d *data) versionFile() string { return filepath.Join(d.dir, "VERSION") }

// sqlConfig opens path as the server does. Full synchronisation in WAL mode has no measurable cost here and loses nothing in a
// power cut. Several connections would block each other and fail ("database is locked").
func sqlConfig(path string) *config.SQL {
	return &config.SQL{
		PluginName:   sqlite.PluginName,
		DatabaseName: (&url.URL{Path: path}).EscapedPath(), // becomes part of a file: URI
		MaxConns:     1,
		MaxIdleConns: 1,
		ConnectAttributes: map[string]string{
			"mode":         "rwc",
			"journal_mode": "wal",
			"synchronous":  "full",
			"busy_timeout": "5000", // for other programs that read the file
		},
	}
}
