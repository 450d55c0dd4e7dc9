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

// ErrOtherNamespace means that the store belongs to another Temporal namespace or another Temporal cluster.
var ErrOtherNamespace = errors.New("a store belongs to one namespace of one Temporal")

// ID returns the identity of the store: random, created when the store is first opened, and kept when it is moved or restored.
func (s *Store) ID() string { return s.id }

// Join binds the store to a namespace, or refuses it if it belongs to another: each would take the other's investigations for
// terminated. The namespace's ID is Temporal's, random, and stays the same wherever the namespace is moved to; its name is for
// people. adopt takes the store over.
func (s *Store) Join(ctx context.Context, id, name string, adopt bool) error {
	stored, err := s.note(ctx, namespaceKey, id+" "+name)
	if err != nil {
		return fmt.Errorf("read whose store it is: %w", err)
	}
	if err := otherNamespace(stored, id, name); err == nil || !adopt {
		return err
	}
	s.logger.Warn("the store is another namespace's now: what runs in the old one counts as terminated", "was", stored, "is", id+" "+name)
	_, err = s.db.writer.ExecContext(ctx, `UPDATE meta SET value = $1 WHERE key = $2`, id+" "+name, namespaceKey)
	return s.db.explain(err)
}

// Belongs returns an error if the store now belongs to another namespace. A store without a namespace is accepted.
func (s *Store) Belongs(ctx context.Context, id, name string) error {
	var stored string
	err := s.db.reader.QueryRowContext(ctx, readNote, namespaceKey).Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read whose store it is: %w", s.db.explain(err))
	}
	return otherNamespace(stored, id, name)
}

func otherNamespace(stored, id, name string) error {
	theirs, known, _ := strings.Cut(stored, " ")
	if theirs != id {
		return fmt.Errorf("%w: this one is that of namespace %q (id %s), and you work for namespace %q (id %s); name a store of its own; "+
			"if it takes the other one's place for good, start the worker once with --adopt-store: what runs in the other one then counts "+
			"as terminated", ErrOtherNamespace, known, theirs, name, id)
	}
	return nil
}

const (
	namespaceKey = "namespace"
	readNote     = `SELECT value FROM meta WHERE key = $1`
)

// note reads a fact about the store itself. The first caller sets it.
func (s *Store) note(ctx context.Context, key, first string) (value string, err error) {
	if err := s.db.reader.QueryRowContext(ctx, readNote, key).Scan(&value); err == nil {
		return value, nil
	}
	err = inTx(ctx, s.db.writer, nil, func(q querier) error {
		add := insertInto("meta", "key, value") + `ON CONFLICT DO NOTHING`
		if _, err := q.ExecContext(ctx, add, key, first); err != nil {
			return err
		}
		return q.QueryRowContext(ctx, readNote, key).Scan(&value)
	})
	return value, s.db.explain(err)
}

// machineIDFiles lists the files in which an operating system keeps the ID of its installation.
const machineIDFiles = "/etc/machine-id /var/lib/dbus/machine-id"

// hostMark names this host: "<hostname>/<digest of the machine ID>". The digest is empty if the ID cannot be read.
func hostMark() string {
	name, _ := os.Hostname()
	return name + "/" + machineID()
}

// machineID returns a digest, because the ID itself is meant to stay on the machine.
func machineID() string {
	for file := range strings.FieldsSeq(machineIDFiles) {
		if id, err := os.ReadFile(file); err == nil && len(bytes.TrimSpace(id)) > 0 {
			sum := sha256.Sum256(bytes.TrimSpace(id))
			return hex.EncodeToString(sum[:8])
		}
	}
	return ""
}

// checkHost refuses a file that another host has marked, because SQLite's locks do not reach across hosts. Any host may use a file
// without tables.
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
