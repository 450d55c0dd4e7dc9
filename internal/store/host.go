package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
)

// machineIDFiles are where an operating system keeps the number of its installation.
const machineIDFiles = "/etc/machine-id /var/lib/dbus/machine-id"

// hostMark names this host: "<hostname>/<digest of the machine id>", the latter
// empty where it cannot be read.
func hostMark() string {
	name, _ := os.Hostname()
	return name + "/" + machineID()
}

// machineID is a digest, because the number itself is meant to stay on the machine.
func machineID() string {
	for file := range strings.FieldsSeq(machineIDFiles) {
		if id, err := os.ReadFile(file); err == nil && len(bytes.TrimSpace(id)) > 0 {
			sum := sha256.Sum256(bytes.TrimSpace(id))
			return hex.EncodeToString(sum[:8])
		}
	}
	return ""
}

// checkHost refuses a file that another host has marked: SQLite's locks do not
// reach across hosts. A file without tables is anyone's.
func checkHost(ctx context.Context, q querier, mark string, adopt bool) error {
	var exists bool
	const query = `SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta')`
	if err := q.QueryRowContext(ctx, query).Scan(&exists); err != nil || !exists {
		return err
	}
	var stored string
	err := q.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'host'`).Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) || (err == nil && (stored == mark || adopt)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read host mark: %w", err)
	}
	owner, _, _ := strings.Cut(stored, "/")
	here, _, _ := strings.Cut(mark, "/")
	return fmt.Errorf("%w: it belongs to host %q, this is %q; use PostgreSQL for several hosts; "+
		"if the file was moved here, start the worker once with --adopt-store",
		ErrOtherHost, owner, here)
}

// setHost marks the file as this host's.
func setHost(ctx context.Context, q querier, mark string) error {
	_, err := q.ExecContext(ctx, insertInto("meta", "key, value")+`ON CONFLICT (key) `+overwrite("value"), "host", mark)
	if err != nil {
		return fmt.Errorf("write host mark: %w", err)
	}
	return nil
}
