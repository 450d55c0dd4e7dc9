package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/internal/store"
)

// database is the PostgreSQL server that holds the store.
type database struct{ db *sql.DB }

// openDatabase returns nil for a SQLite file.
func openDatabase(ctx context.Context, address string) (*database, error) {
	if !store.IsDSN(address) {
		return nil, nil
	}
	db, err := sql.Open("pgx", address) // the store has registered the driver
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return &database{db}, db.PingContext(ctx)
}

// counts is exact immediately, unlike PostgreSQL's own statistics: it uses the transaction number, which every
// writing transaction increases, and the position in the write-ahead log.
const counts = `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
	(pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint, pg_backend_pid()`

func (d *database) weigh(ctx context.Context) (w weight, err error) {
	var pid int
	if err := d.db.QueryRowContext(ctx, counts).Scan(&w.commits, &w.written, &pid); err != nil {
		return w, fmt.Errorf("ask PostgreSQL what it has written: %w", err)
	}
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if strings.TrimSpace(string(name)) != "postgres" { // it is on another machine
		return w, nil
	}
	postmaster := parent(pid)
	w.cpu = times(stat(postmaster), statChildren)
	dirs, _ := filepath.Glob("/proc/[0-9]*") // fails only for a bad pattern
	for _, dir := range dirs {
		if pid, _ := strconv.Atoi(filepath.Base(dir)); parent(pid) == postmaster {
			w.cpu += cpu(pid)
		}
	}
	return w, nil
}

func parent(pid int) int {
	fields := stat(pid)
	if len(fields) <= statParent {
		return 0
	}
	id, _ := strconv.Atoi(fields[statParent])
	return id
}

func (d *database) close() error {
	if d == nil {
		return nil
	}
	return d.db.Close()
}
