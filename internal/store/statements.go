package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

// keeping is a connection pool that keeps its prepared statements, because SQLite takes longer to parse a statement than to run it.
// (The PostgreSQL driver keeps them itself.)
type keeping struct {
	*sql.DB
	mu     sync.Mutex
	kept   map[string]*sql.Stmt // by query; nil means not prepared yet
	wanted []string             // queries to prepare
}

// maxKept bounds the statements of a pool; the store has fewer.
const maxKept = 200

func keep(db *sql.DB) *keeping { return &keeping{DB: db, kept: map[string]*sql.Stmt{}} }

// statement returns the prepared statement of a query, or nil.
func (k *keeping) statement(query string) *sql.Stmt {
	k.mu.Lock()
	defer k.mu.Unlock()
	statement, known := k.kept[query]
	if !known && len(k.kept) < maxKept {
		k.kept[query] = nil
		k.wanted = append(k.wanted, query)
	}
	return statement
}

// prepare prepares the wanted queries. The caller must not be in a transaction, which may hold the only connection.
func (k *keeping) prepare(ctx context.Context) {
	k.mu.Lock()
	wanted := k.wanted
	k.wanted = nil
	k.mu.Unlock()
	for _, query := range wanted {
		statement, err := k.DB.PrepareContext(ctx, query)
		if err != nil {
			continue // it runs unprepared and returns its own error
		}
		k.mu.Lock()
		k.kept[query] = statement
		k.mu.Unlock()
	}
}

func (k *keeping) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	defer k.prepare(ctx)
	if statement := k.statement(query); statement != nil {
		return statement.QueryContext(ctx, args...)
	}
	return k.DB.QueryContext(ctx, query, args...)
}

func (k *keeping) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	defer k.prepare(ctx)
	if statement := k.statement(query); statement != nil {
		return statement.QueryRowContext(ctx, args...)
	}
	return k.DB.QueryRowContext(ctx, query, args...)
}

// keepingTx is a transaction that uses prepared statements. A statement without arguments may be a script, and runs rarely.
type keepingTx struct {
	*sql.Tx
	keeping *keeping
}

func (tx keepingTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if statement := tx.keeping.statement(query); statement != nil {
		return tx.StmtContext(ctx, statement).QueryContext(ctx, args...)
	}
	return tx.Tx.QueryContext(ctx, query, args...)
}

func (tx keepingTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if statement := tx.keeping.statement(query); statement != nil {
		return tx.StmtContext(ctx, statement).QueryRowContext(ctx, args...)
	}
	return tx.Tx.QueryRowContext(ctx, query, args...)
}

func (tx keepingTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if len(args) > 0 {
		if statement := tx.keeping.statement(query); statement != nil {
			return tx.StmtContext(ctx, statement).ExecContext(ctx, args...)
		}
	}
	return tx.Tx.ExecContext(ctx, query, args...)
}

// A record's columns are a list of names, and a function that returns pointers to its fields in that order. The same pointers serve
// as arguments of an INSERT and as targets of a Scan.

// jsonColumn stores a value as JSON text.
type jsonColumn[T any] struct{ to *T }

func asJSON[T any](to *T) jsonColumn[T] { return jsonColumn[T]{to} }

// Value implements driver.Valuer. It does not escape for HTML, so that a provider gets its state back unchanged.
func (c jsonColumn[T]) Value() (driver.Value, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(c.to)
	return text.String(), err
}

func (c jsonColumn[T]) Scan(src any) error {
	switch text := src.(type) {
	case string:
		return json.Unmarshal([]byte(text), c.to)
	case []byte:
		return json.Unmarshal(text, c.to)
	}
	return fmt.Errorf("JSON column holds %T", src)
}

// textColumn stores text from outside, such as a model's or a tool's. PostgreSQL accepts neither NUL nor invalid UTF-8, so both
// databases store U+FFFD instead. (In JSON, a NUL is an escape and survives.)
type textColumn struct{ to *string }

func (c textColumn) Value() (driver.Value, error) {
	return storedText(*c.to), nil
}

// storedText returns a text as textColumn stores it.
func storedText(text string) string {
	const instead = "\uFFFD"
	return strings.ReplaceAll(strings.ToValidUTF8(text, instead), "\x00", instead)
}

func (c textColumn) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("text column holds %T", src)
	}
	*c.to = text
	return nil
}

// timeColumn stores a time as microseconds since 1970 and reads it as UTC.
type timeColumn struct{ to *time.Time }

func (c timeColumn) Value() (driver.Value, error) { return c.to.UnixMicro(), nil }

func (c timeColumn) Scan(src any) error {
	micros, ok := src.(int64)
	if !ok {
		return fmt.Errorf("time column holds %T", src)
	}
	*c.to = time.UnixMicro(micros).UTC()
	return nil
}

// storedTime returns a time as timeColumn stores it.
func storedTime(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }

// endColumn is a timeColumn that may be NULL, which means not ended yet.
type endColumn struct{ to **time.Time }

func (c endColumn) Value() (driver.Value, error) {
	if *c.to == nil {
		return nil, nil
	}
	return timeColumn{*c.to}.Value()
}

func (c endColumn) Scan(src any) error {
	*c.to = nil
	if src == nil {
		return nil
	}
	*c.to = new(time.Time)
	return timeColumn{*c.to}.Scan(src)
}

// insertInto returns an INSERT of one row with the given columns.
func insertInto(table, columns string) string {
	return `INSERT INTO ` + table + ` (` + columns + `) VALUES (` + places(strings.Count(columns, ",")+1) + `) `
}

// places returns n placeholders, starting with $1.
func places(n int) string {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, ", $%d", i+1)
	}
	return list.String()[2:]
}

// overwrite returns the assignments of an upsert that takes the new row's columns.
func overwrite(columns string) string {
	return `DO UPDATE SET ` + assign(`% = excluded.%`, columns)
}

// assign returns an assignment for each column. In the pattern, % is the column.
func assign(pattern, columns string) string {
	var set []string
	for column := range strings.SplitSeq(columns, ", ") {
		set = append(set, strings.ReplaceAll(pattern, "%", column))
	}
	return strings.Join(set, ", ")
}

// selectAll runs a query and reads every row through the pointers of fields.
func selectAll[T any](ctx context.Context, q querier, fields func(*T) []any, query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var one T
		if err := rows.Scan(fields(&one)...); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// changed reports whether a statement changed any row.
func changed(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// projectColumn stores a project name. The default project is "" in records.
type projectColumn struct{ to *string }

func (c projectColumn) Value() (driver.Value, error) { return cmp.Or(*c.to, agent.DefaultProject), nil }

func (c projectColumn) Scan(src any) error {
	err := textColumn(c).Scan(src)
	if *c.to == agent.DefaultProject {
		*c.to = ""
	}
	return err
}

// flagColumn stores a yes or no as a number.
type flagColumn struct{ to *bool }

func (c flagColumn) Value() (driver.Value, error) {
	if *c.to {
		return int64(1), nil
	}
	return int64(0), nil
}

func (c flagColumn) Scan(src any) error {
	n, ok := src.(int64)
	if !ok {
		return fmt.Errorf("number column holds %T", src)
	}
	*c.to = n != 0
	return nil
}

// vectorColumn stores numbers as 32-bit floats, little-endian.
type vectorColumn struct{ to *[]float32 }

func (c vectorColumn) Value() (driver.Value, error) {
	out := make([]byte, 0, 4*len(*c.to))
	for _, x := range *c.to {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out, nil
}

func (c vectorColumn) Scan(src any) error {
	bytes, ok := src.([]byte)
	if !ok || len(bytes)%4 != 0 {
		return fmt.Errorf("vector column holds %T of %d bytes", src, len(bytes))
	}
	*c.to = make([]float32, len(bytes)/4)
	for n := range *c.to {
		(*c.to)[n] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*n:]))
	}
	return nil
}
