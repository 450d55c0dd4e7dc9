package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// SaveCatalogue keeps what a server offers to an execution, in place of what was
// kept before. Equal catalogues share one blob.
func (s *Store) SaveCatalogue(ctx context.Context, scope transcript.Scope, catalogue tool.Catalogue) error {
	body, err := json.Marshal(catalogue)
	if err == nil {
		err = s.write(ctx, "", func(q querier) error {
			return insertCatalogue(ctx, q, scope, catalogue.Server, body)
		})
	}
	if err != nil {
		return fmt.Errorf("write tool catalogue of %s for %s, %s: %w", catalogue.Server, scope.Investigation, scope.Execution, err)
	}
	return nil
}

func insertCatalogue(ctx context.Context, q querier, scope transcript.Scope, server string, body []byte) error {
	hash := blobHash(body)
	if err := insertBlob(ctx, q, hash, body); err != nil {
		return err
	}
	_, err := q.ExecContext(ctx, insertInto("catalogues", "investigation, execution, server, hash")+
		`ON CONFLICT (investigation, execution, server) `+overwrite("hash"), scope.Investigation, scope.Execution, server, hash)
	return err
}

// Catalogues returns the hashes of the blobs that were saved for an execution,
// each a tool.Catalogue as JSON, sorted by server.
func (s *Store) Catalogues(ctx context.Context, scope transcript.Scope) ([]string, error) {
	const query = `SELECT hash FROM catalogues WHERE investigation = $1 AND execution = $2 ORDER BY server`
	hashes, err := selectAll(ctx, s.db.reader, func(hash *string) []any { return []any{hash} }, query, scope.Investigation, scope.Execution)
	if err != nil {
		return nil, fmt.Errorf("read tool catalogues of %s, %s: %w", scope.Investigation, scope.Execution, s.db.explain(err))
	}
	return hashes, nil
}
