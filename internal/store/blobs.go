package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// PutBlob stores data and returns its name: the first 32 hex digits of its SHA-256. Equal data has the same name and is stored
// once.
func (s *Store) PutBlob(ctx context.Context, data []byte) (hash string, err error) {
	hash = blobHash(data)
	var known bool
	err = s.db.explain(s.db.reader.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM blobs WHERE hash = $1)`, hash).Scan(&known))
	if err == nil && !known {
		err = s.write(ctx, "", func(q querier) error { return insertBlob(ctx, q, hash, data) })
	}
	return hash, doing(err, "write blob %s", hash)
}

// Blob returns the data with that name, or ErrNotFound.
func (s *Store) Blob(ctx context.Context, hash string) (data []byte, err error) {
	err = s.db.reader.QueryRowContext(ctx, `SELECT data FROM blobs WHERE hash = $1`, hash).Scan(&data)
	return data, doing(s.db.explain(notFound(err)), "read blob %s", hash)
}

// Beginnings returns the first bytes of each blob, at most the given number, by name.
func (s *Store) Beginnings(ctx context.Context, hashes []string, bytes int) (map[string][]byte, error) {
	type beginning struct {
		hash string
		data []byte
	}
	out := map[string][]byte{}
	for some := range slices.Chunk(hashes, askedAtOnce) {
		query := `SELECT hash, substr(data, 1, ` + strconv.Itoa(bytes) + `) FROM blobs WHERE hash IN (` + places(len(some)) + `)`
		var args []any
		for _, hash := range some {
			args = append(args, hash)
		}
		all, err := selectAll(ctx, s.db.reader, func(b *beginning) []any { return []any{&b.hash, &b.data} }, query, args...)
		if err != nil {
			return out, doing(s.db.explain(err), "read the beginnings of %d blobs", len(hashes))
		}
		for _, b := range all {
			out[b.hash] = b.data
		}
	}
	return out, nil
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

// SaveCatalogue stores the tools that a server offers to an execution and replaces the earlier ones. If the server could be asked,
// the catalogue is also stored as its last offer. Equal catalogues share one blob.
func (s *Store) SaveCatalogue(ctx context.Context, scope transcript.Scope, catalogue tool.Catalogue) error {
	body, err := json.Marshal(catalogue)
	if err == nil {
		hash := blobHash(body)
		err = s.write(ctx, "", func(q querier) error {
			if err := insertBlob(ctx, q, hash, body); err != nil {
				return err
			}
			_, err := q.ExecContext(ctx, insertInto("catalogues", "investigation, execution, server, hash")+
				`ON CONFLICT (investigation, execution, server) `+overwrite("hash"), scope.Investigation, scope.Execution, catalogue.Server, hash)
			if err != nil || catalogue.Error != "" {
				return err
			}
			_, err = q.ExecContext(ctx, insertInto("offers", "server, hash")+`ON CONFLICT (server) `+overwrite("hash")+
				` WHERE offers.hash <> excluded.hash`, catalogue.Server, hash)
			return err
		})
	}
	return doing(err, "write tool catalogue of %s for %s, %s", catalogue.Server, scope.Investigation, scope.Execution)
}

// LastOffer returns the tools that a server offered when any execution last asked it, or the zero value if none ever did.
func (s *Store) LastOffer(ctx context.Context, server string) (offer tool.Catalogue, err error) {
	const query = `SELECT data FROM blobs JOIN offers ON offers.hash = blobs.hash WHERE server = $1`
	var body []byte
	err = s.db.reader.QueryRowContext(ctx, query, server).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return offer, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &offer)
	}
	return offer, doing(s.db.explain(err), "read what %s offered last", server)
}

// Catalogues returns the hashes of the blobs saved for an execution, sorted by server. Each blob is a tool.Catalogue as JSON.
func (s *Store) Catalogues(ctx context.Context, scope transcript.Scope) ([]string, error) {
	const query = `SELECT hash FROM catalogues WHERE investigation = $1 AND execution = $2 ORDER BY server`
	hashes, err := selectAll(ctx, s.db.reader, func(hash *string) []any { return []any{hash} }, query, scope.Investigation, scope.Execution)
	return hashes, doing(s.db.explain(err), "read tool catalogues of %s, %s", scope.Investigation, scope.Execution)
}

// SaveProgramTools stores the tools that a worker's program has in Go, for processes that list tools elsewhere. The last save wins.
func (s *Store) SaveProgramTools(ctx context.Context, specs []tool.Spec) error {
	return s.change(ctx, "", func(q querier) error {
		_, err := q.ExecContext(ctx, insertInto("meta", "key, value")+`ON CONFLICT (key) `+overwrite("value"), "tools", asJSON(&specs))
		return err
	})
}

// ProgramTools returns the tools that were saved last.
func (s *Store) ProgramTools(ctx context.Context) (specs []tool.Spec, err error) {
	var text string
	err = s.db.reader.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'tools'`).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, s.db.explain(err)
	}
	return specs, json.Unmarshal([]byte(text), &specs)
}
