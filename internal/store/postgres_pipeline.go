package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// pipelining makes connections whose transactions wait for the server as rarely as possible. A statement is sent when the caller
// needs its result (scans a row, counts changed rows), together with all earlier ones, BEGIN included. The last ones are sent with
// the COMMIT. So a failed statement may be reported by a later one, or by the COMMIT. It aborts the transaction in any case.
type pipelining struct{ driver.Connector }

func (p pipelining) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := p.Connector.Connect(ctx)
	if plain, ok := conn.(*stdlib.Conn); ok {
		return &pipelined{Conn: plain}, nil
	}
	return conn, err
}

// pipelined is a connection. Do not prepare statements by hand within a transaction: they would run before those that are queued.
type pipelined struct {
	*stdlib.Conn
	tx *pipeline // nil outside transactions
}

func (c *pipelined) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if c.Conn.Conn().IsClosed() {
		return nil, driver.ErrBadConn
	}
	begin := "BEGIN"
	if level := sql.IsolationLevel(opts.Isolation); level != sql.LevelDefault {
		begin += " ISOLATION LEVEL " + level.String()
	}
	if opts.ReadOnly {
		begin += " READ ONLY"
	}
	c.tx = &pipeline{ctx: ctx, conn: c}
	c.tx.add(begin, nil)
	return c.tx, nil
}

// CheckNamedValue implements driver.NamedValueChecker. It copies the values that pointers point to, because they may change before
// the statement is sent.
func (c *pipelined) CheckNamedValue(arg *driver.NamedValue) error {
	if value, err := driver.DefaultParameterConverter.ConvertValue(arg.Value); err == nil {
		arg.Value = value
	} // the connection converts it, or returns an error
	return nil
}

func (c *pipelined) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.tx == nil {
		return c.Conn.QueryContext(ctx, query, args)
	}
	return c.tx.add(query, args), nil
}

// ExecContext implements driver.ExecerContext. A statement without arguments may be a script, which cannot be sent in a batch.
func (c *pipelined) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	switch {
	case c.tx == nil:
		return c.Conn.ExecContext(ctx, query, args)
	case len(args) > 0:
		return c.tx.add(query, args), nil
	}
	if err := c.tx.send(); err != nil {
		return nil, err
	}
	return c.Conn.ExecContext(ctx, query, nil)
}

// pipeline is a transaction with its queued statements.
type pipeline struct {
	ctx     context.Context // of BeginTx: Commit and Rollback get none
	conn    *pipelined
	waiting []*statement
	err     error // the first error; nothing is sent after it
}

// maxWaiting bounds the memory of a transaction with very many statements.
const maxWaiting = 200

func (p *pipeline) add(query string, args []driver.NamedValue) *statement {
	if len(p.waiting) == maxWaiting {
		_ = p.send() // the next statement that needs a result returns the error
	}
	s := &statement{tx: p, query: query}
	for _, arg := range args {
		s.args = append(s.args, arg.Value)
	}
	p.waiting = append(p.waiting, s)
	return s
}

// send sends the queued statements and waits for their results.
func (p *pipeline) send() error {
	if p.err != nil || len(p.waiting) == 0 {
		return p.err
	}
	var batch pgx.Batch
	for _, s := range p.waiting {
		batch.Queue(s.query, s.args...).Query(s.read)
	}
	p.waiting = nil
	p.err = p.conn.Conn.Conn().SendBatch(p.ctx, &batch).Close()
	return p.err
}

func (p *pipeline) Commit() error {
	commit := p.add("COMMIT", nil)
	err := p.send()
	if err == nil && commit.tag.String() == "ROLLBACK" { // PostgreSQL's answer to a COMMIT after an error
		err = pgx.ErrTxCommitRollback
	}
	if err != nil {
		_ = p.Rollback() // otherwise the connection is closed
		return err
	}
	p.conn.tx = nil
	return nil
}

func (p *pipeline) Rollback() error {
	p.conn.tx, p.waiting, p.err = nil, nil, sql.ErrTxDone
	conn := p.conn.Conn.Conn()
	if conn.PgConn().TxStatus() == 'I' { // idle: BEGIN was not sent
		return nil
	}
	_, err := conn.Exec(p.ctx, "ROLLBACK")
	if err != nil {
		_ = p.conn.Close() // this also undoes the transaction
	}
	return err
}

// statement is a queued statement, and later its result: it is its own driver.Result and driver.Rows.
type statement struct {
	tx      *pipeline
	query   string
	args    []any
	columns []string
	rows    [][]driver.Value
	tag     pgconn.CommandTag
}

// read stores the statement's result.
func (s *statement) read(rows pgx.Rows) error {
	if rows.Err() != nil {
		return rows.Err() // there are no rows then, and no descriptions of columns
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

// valuesOf returns a row's values in the types of database/sql. Types that the driver does not know become text.
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

func (s *statement) RowsAffected() (int64, error) {
	err := s.tx.send()
	return s.tag.RowsAffected(), err
}

// LastInsertId implements driver.Result: PostgreSQL has no such ID.
func (s *statement) LastInsertId() (int64, error) { return driver.RowsAffected(0).LastInsertId() }

func (s *statement) Columns() []string {
	_ = s.tx.send() // Next returns the error
	return s.columns
}

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

// Close implements driver.Rows. The statement is sent even if its rows were never read.
func (s *statement) Close() error { return nil }
