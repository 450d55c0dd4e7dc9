package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// PutBlob stores data and returns its name: the first 32 hex digits of its SHA-256. Equal data has the same name and is stored
// once.
func (s blobs) PutBlob(ctx context.Context, data []byte) (hash string, err error) {
	hash = blobHash(data)
	var known bool
	err = s.db.explain(s.db.reader.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM blobs WHERE hash = $1)`, hash).Scan(&known))
	if err == nil && !known {
		err = s.write(ctx, "", func(q querier) error { return insertBlob(ctx, q, hash, data) })
	}
	return hash, doing(err, "write blob %s", hash)
}

// Blob returns the data with that name, or ErrNotFound.
func (s blobs) Blob(ctx context.Context, hash string) (data []byte, err error) {
	err = s.db.reader.QueryRowContext(ctx, `SELECT data FROM blobs WHERE hash = $1`, hash).Scan(&data)
	return data, doing(s.db.explain(notFound(err)), "read blob %s", hash)
}

// Beginnings returns the first bytes of each blob, at most the given number, by name.
func (s blobs) Beginnings(ctx context.Context, hashes []string, bytes int) (map[string][]byte, error) {
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
			return out, doing(s.db.explain(err), "read the beginnings of blobs")
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
// they are also stored as its last offer; a partial list replaces only the tools that it contains. Equal catalogues share one blob.
func (s blobs) SaveCatalogue(ctx context.Context, scope transcript.Scope, catalogue tool.Catalogue) error {
	err := s.write(ctx, "", func(q querier) error {
		hash, err := insertCatalogue(ctx, q, catalogue)
		if err != nil {
			return err
		}
		_, err = q.ExecContext(ctx, insertInto("catalogues", "investigation, execution, server, hash")+
			`ON CONFLICT (investigation, execution, server) `+overwrite("hash"), scope.Investigation, scope.Execution, catalogue.Server, hash)
		if err != nil || catalogue.Error != "" || catalogue.Recorded {
			return err
		}
		if catalogue.Partial != "" {
			last, err := lastOffer(ctx, q, catalogue.Server, s.db.forUpdate())
			if err != nil {
				return err
			}
			if hash, err = insertCatalogue(ctx, q, catalogue.After(last)); err != nil {
				return err
			}
		}
		_, err = q.ExecContext(ctx, insertInto("offers", "server, hash")+`ON CONFLICT (server) `+overwrite("hash")+
			` WHERE offers.hash <> excluded.hash`, catalogue.Server, hash)
		return err
	})
	return doing(err, "write tool catalogue of %s for %s, %s", catalogue.Server, scope.Investigation, scope.Execution)
}

func insertCatalogue(ctx context.Context, q querier, catalogue tool.Catalogue) (hash string, err error) {
	body, err := json.Marshal(catalogue)
	if err != nil {
		return "", err
	}
	hash = blobHash(body)
	return hash, insertBlob(ctx, q, hash, body)
}

// LastOffer returns the tools that a server offered when any execution last asked it, or the zero value if none ever did. Tools that
// a partial list left out are those of the lists before.
func (s blobs) LastOffer(ctx context.Context, server string) (offer tool.Catalogue, err error) {
	offer, err = lastOffer(ctx, s.db.reader, server, "")
	return offer, doing(s.db.explain(err), "read what %s offered last", server)
}

// lastOffer reads a server's last offer. lock is the end of the SELECT.
func lastOffer(ctx context.Context, q querier, server, lock string) (offer tool.Catalogue, err error) {
	query := `SELECT data FROM blobs JOIN offers ON offers.hash = blobs.hash WHERE server = $1 ` + lock
	var body []byte
	err = q.QueryRowContext(ctx, query, server).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return offer, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &offer)
	}
	return offer, err
}

// Catalogues returns the hashes of the blobs saved for an execution, sorted by server. Each blob is a tool.Catalogue as JSON.
func (s blobs) Catalogues(ctx context.Context, scope transcript.Scope) ([]string, error) {
	const query = `SELECT hash FROM catalogues WHERE investigation = $1 AND execution = $2 ORDER BY server`
	hashes, err := selectAll(ctx, s.db.reader, func(hash *string) []any { return []any{hash} }, query, scope.Investigation, scope.Execution)
	return hashes, doing(s.db.explain(err), "read tool catalogues of %s, %s", scope.Investigation, scope.Execution)
}

// SaveProgramTools stores the tools that a worker's program has in Go, for processes that list tools elsewhere. The last save wins.
func (s blobs) SaveProgramTools(ctx context.Context, specs []tool.Spec) error {
	return s.change(ctx, "", func(q querier) error {
		_, err := q.ExecContext(ctx, setNote, "tools", asJSON(&specs))
		return err
	})
}

// ProgramTools returns the tools that were saved last.
func (s blobs) ProgramTools(ctx context.Context) (specs []tool.Spec, err error) {
	var text string
	err = s.db.reader.QueryRowContext(ctx, readNote, "tools").Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, s.db.explain(err)
	}
	return specs, json.Unmarshal([]byte(text), &specs)
}

// transferred are the tables that hold a finished investigation: the column with its ID, and the order of its rows.
var transferred = []transfer{
	{"investigations", "id", "id"},
	{"stages", "investigation", "idx, name"},
	{"executions", "investigation", "name"},
	{"runs", "investigation", "execution, ordinal"},
	{"cursors", "investigation", "investigation"},
	{"entries", "investigation", "seq"},
	{"mail", "investigation", "seq"},
	{"readings", "investigation", "mail, entry"},
	{"catalogues", "investigation", "execution, server"},
	{"ledger", "investigation", "key"},
	{"execution_sums", "investigation", "execution"},
	{"extensions", "investigation", "key"},
	{"scores", "investigation", "n"},
	{"ratings", "investigation", "author, claim"},
	{"reviews", "investigation", "investigation"},
	{"audit", "investigation", "n"},
	{"audit_heads", "investigation", "investigation"},
}

type transfer struct{ table, id, order string }

// transferOf returns the entry of a table in transferred.
func transferOf(table string) (transfer, error) {
	n := slices.IndexFunc(transferred, func(t transfer) bool { return t.table == table })
	if n < 0 {
		return transfer{}, fmt.Errorf("unknown table %q: use a newer release", table)
	}
	return transferred[n], nil
}

// flags are the columns that PostgreSQL keeps as booleans and SQLite as numbers.
var flags = map[string]bool{"executions.forced": true, "executions.actions_executed": true}

// ErrExists means that the store already has the investigation.
var ErrExists = errors.New("the store already has it")

// Rows calls fn with each row of an investigation, from one consistent snapshot. The rows refer to blobs.
func (s investigations) Rows(ctx context.Context, investigation string, fn func(record.Row) error) error {
	err := s.read(ctx, func(q querier) error {
		for _, t := range transferred {
			err := eachRow(ctx, q, t.table, fmt.Sprintf(` WHERE %s = $1 ORDER BY %s`, t.id, t.order), fn, investigation)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return doing(err, "read the rows of %s", investigation)
}

func eachRow(ctx context.Context, q querier, table, where string, fn func(record.Row) error, args ...any) error {
	rows, err := q.QueryContext(ctx, `SELECT * FROM `+table+where, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for n := range values {
		into[n] = &values[n]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		row := record.Row{Table: table, Values: make(map[string]any, len(columns))}
		for n, column := range columns {
			row.Values[column] = values[n]
			if number, ok := values[n].(int64); ok && flags[table+"."+column] {
				row.Values[column] = number != 0
			}
		}
		if err := fn(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Add writes the rows and blobs of an investigation from another store in one transaction. It returns ErrExists if the store already
// has the investigation. Rows of other investigations, and unknown tables or columns, are errors.
func (s investigations) Add(ctx context.Context, investigation string, rows []record.Row, blobs iter.Seq[[]byte]) error {
	err := s.writeRecords(ctx, investigation, func(q querier) error {
		var known bool
		err := q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM investigations WHERE id = $1)
			OR EXISTS (SELECT 1 FROM entries WHERE investigation = $1)`, investigation).Scan(&known)
		if err == nil && known {
			err = ErrExists
		}
		if err == nil {
			_, err = q.ExecContext(ctx, `DELETE FROM cursors WHERE investigation = $1`, investigation) // that of the lock
		}
		if err != nil {
			return err
		}
		for data := range blobs {
			if err := insertBlob(ctx, q, blobHash(data), data); err != nil {
				return err
			}
		}
		return addRows(ctx, q, investigation, rows)
	})
	return doing(err, "add %s", investigation)
}

func addRows(ctx context.Context, q querier, investigation string, rows []record.Row) error {
	columns := map[string][]string{}
	for n, row := range rows {
		t, err := transferOf(row.Table)
		if err != nil {
			return fmt.Errorf("row %d: %w", n+1, err)
		}
		known, err := columnsOf(ctx, q, columns, row.Table)
		if err != nil {
			return fmt.Errorf("row %d: %w", n+1, err)
		}
		if row.Values[t.id] != investigation {
			return fmt.Errorf("row %d of table %s belongs to another investigation", n+1, row.Table)
		}
		if row.Table == "audit_heads" {
			row.Values["anchored"] = int64(0) // this store has not anchored the chain yet
		}
		names := slices.Sorted(maps.Keys(row.Values))
		args := make([]any, 0, len(names))
		for _, name := range names {
			if !slices.Contains(known, name) {
				return fmt.Errorf("row %d: table %s has no column %q: use a newer release", n+1, row.Table, name)
			}
			args = append(args, row.Values[name])
		}
		_, err = q.ExecContext(ctx, insertInto(row.Table, strings.Join(names, ", ")), args...)
		if err != nil {
			return fmt.Errorf("row %d of table %s: %w", n+1, row.Table, err)
		}
	}
	return nil
}

// columnsOf returns the columns of a table in transferred, and keeps them in known.
func columnsOf(ctx context.Context, q querier, known map[string][]string, table string) ([]string, error) {
	if columns, ok := known[table]; ok {
		return columns, nil
	}
	rows, err := q.QueryContext(ctx, `SELECT * FROM `+table+` WHERE 1 = 0`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	known[table] = columns
	return columns, errors.Join(err, rows.Err())
}
