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

// pipelining makes connections whose transactions wait for the server as seldom
// as they can: a statement goes to it when somebody asks what came of it (scans a
// row, counts the rows that changed), with all that are before it, BEGIN included;
// the last ones go with the COMMIT. So a statement that is wrong may be found out
// by a later one, or by the COMMIT. It undoes the transaction in any case.
type pipelining struct{ driver.Connector }

func (p pipelining) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := p.Connector.Connect(ctx)
	if plain, ok := conn.(*stdlib.Conn); ok {
		return &pipelined{Conn: plain}, nil
	}
	return conn, err
}

// pipelined is a connection. Within a transaction, statements must not be prepared
// by hand: those would go before the ones that wait.
type pipelined struct {
	*stdlib.Conn
	tx *pipeline // nil = none
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

// CheckNamedValue implements driver.NamedValueChecker. It takes what pointers
// point to now: it may be something else when the statement goes.
func (c *pipelined) CheckNamedValue(arg *driver.NamedValue) error {
	if value, err := driver.DefaultParameterConverter.ConvertValue(arg.Value); err == nil {
		arg.Value = value
	} // else it is the connection's to convert, or to complain of
	return nil
}

func (c *pipelined) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.tx == nil {
		return c.Conn.QueryContext(ctx, query, args)
	}
	return c.tx.add(query, args), nil
}

// ExecContext implements driver.ExecerContext. What has no arguments may be a
// script, which does not go with others.
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

// pipeline is a transaction, and its statements that have not gone to the server yet.
type pipeline struct {
	ctx     context.Context // of BeginTx: Commit and Rollback are given none
	conn    *pipelined
	waiting []*statement
	err     error // the first; nothing goes after it
}

// maxWaiting bounds the memory of a transaction of very many statements.
const maxWaiting = 200

func (p *pipeline) add(query string, args []driver.NamedValue) *statement {
	if len(p.waiting) == maxWaiting {
		_ = p.send() // the next one to ask is told
	}
	s := &statement{tx: p, query: query}
	for _, arg := range args {
		s.args = append(s.args, arg.Value)
	}
	p.waiting = append(p.waiting, s)
	return s
}

// send sends what waits, and waits for what comes of it.
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
	if err == nil && commit.tag.String() == "ROLLBACK" { // what PostgreSQL makes of it after an error
		err = pgx.ErrTxCommitRollback
	}
	if err != nil {
		_ = p.Rollback() // or else the connection is closed
		return err
	}
	p.conn.tx = nil
	return nil
}

func (p *pipeline) Rollback() error {
	p.conn.tx, p.waiting, p.err = nil, nil, sql.ErrTxDone
	conn := p.conn.Conn.Conn()
	if conn.PgConn().TxStatus() == 'I' { // idle: BEGIN did not go
		return nil
	}
	_, err := conn.Exec(p.ctx, "ROLLBACK")
	if err != nil {
		_ = p.conn.Close() // which undoes it, too
	}
	return err
}

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

func (s *statement) RowsAffected() (int64, error) {
	err := s.tx.send()
	return s.tag.RowsAffected(), err
}

// LastInsertId implements driver.Result: PostgreSQL has none.
func (s *statement) LastInsertId() (int64, error) { return driver.RowsAffected(0).LastInsertId() }

func (s *statement) Columns() []string {
	_ = s.tx.send() // Next says what is wrong
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

// Close implements driver.Rows. One that nobody has asked about goes nevertheless.
func (s *statement) Close() error { return nil }
