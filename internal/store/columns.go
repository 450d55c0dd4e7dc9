package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

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
