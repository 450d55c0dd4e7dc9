package store

import (
	"database/sql/driver"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// statement is one that waits, and then what came of it: it is its own
// driver.Result and driver.Rows.
type statement struct {
	tx      *pipeline
	query   string
	args    []any
	columns []string
	rows    [][]driver.Value
	tag     pgconn.CommandTag
}

// read takes in what came of it.
func (s *statement) read(rows pgx.Rows) error {
	if rows.Err() != nil {
		return rows.Err() // there are no rows then, and nothing to describe them
	}
	for _, field := range rows.FieldDescriptions() {
		s.columns = append(s.columns, field.Name)
	}
	for rows.Next() {
		row, err := valuesOf(rows)
		if err != nil {
			return err
		}
		s.rows = append(s.rows, row)
	}
	s.tag = rows.CommandTag()
	return rows.Err()
}

// valuesOf returns a row's values as database/sql has them; types that the driver
// does not know are text.
func valuesOf(rows pgx.Rows) ([]driver.Value, error) {
	types, raw := rows.Conn().TypeMap(), rows.RawValues()
	row := make([]driver.Value, len(raw))
	for i, field := range rows.FieldDescriptions() {
		kind, known := types.TypeForOID(field.DataTypeOID)
		if !known {
			kind, _ = types.TypeForOID(pgtype.TextOID)
		}
		value, err := kind.Codec.DecodeDatabaseSQLValue(types, kind.OID, field.Format, raw[i])
		if err != nil {
			return nil, err
		}
		row[i] = value
	}
	return row, nil
}

// RowsAffected implements driver.Result.
func (s *statement) RowsAffected() (int64, error) {
	err := s.tx.send()
	return s.tag.RowsAffected(), err
}

// LastInsertId implements driver.Result: PostgreSQL has none.
func (s *statement) LastInsertId() (int64, error) { return driver.RowsAffected(0).LastInsertId() }

// Columns implements driver.Rows.
func (s *statement) Columns() []string {
	_ = s.tx.send() // Next says what is wrong
	return s.columns
}

// Next implements driver.Rows.
func (s *statement) Next(dest []driver.Value) error {
	if err := s.tx.send(); err != nil {
		return err
	}
	if len(s.rows) == 0 {
		return io.EOF
	}
	copy(dest, s.rows[0])
	s.rows[0], s.rows = nil, s.rows[1:] // a row may be large
	return nil
}

// Close implements driver.Rows. One that nobody has asked about goes nevertheless.
func (s *statement) Close() error { return nil }
