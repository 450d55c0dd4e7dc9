package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
)

// PutBlob keeps data and returns its name: the first 32 hex digits of its
// SHA-256. The same data has the same name and is kept once.
func (s *Store) PutBlob(ctx context.Context, data []byte) (hash string, err error) {
	hash = blobHash(data)
	var known bool
	err = s.db.explain(s.db.reader.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM blobs WHERE hash = $1)`, hash).Scan(&known))
	if err == nil && !known {
		err = s.write(ctx, "", func(q querier) error { return insertBlob(ctx, q, hash, data) })
	}
	if err != nil {
		return "", fmt.Errorf("write blob %s: %w", hash, err)
	}
	return hash, nil
}

// Blob returns the data of that name, or ErrNotFound.
func (s *Store) Blob(ctx context.Context, hash string) (data []byte, err error) {
	err = s.db.reader.QueryRowContext(ctx, `SELECT data FROM blobs WHERE hash = $1`, hash).Scan(&data)
	if err != nil {
		return nil, fmt.Errorf("read blob %s: %w", hash, s.db.explain(notFound(err)))
	}
	return data, nil
}

func blobHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:32]
}

func insertBlob(ctx context.Context, q querier, hash string, data []byte) error {
	if data == nil {
		data = []byte{} // nil would be NULL
	}
	_, err := q.ExecContext(ctx, `INSERT INTO blobs (hash, data) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING`, hash, data)
	return err
}

// notFound turns "no rows" into ErrNotFound.
func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) || isUnstorable(err) {
		return ErrNotFound
	}
	return err
}
