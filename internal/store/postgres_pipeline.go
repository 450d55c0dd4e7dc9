package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

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

const (
	channel        = "inquest"              // of NOTIFY; the payload is the investigation
	notifyEvery    = 100 * time.Millisecond // at most; the first notification is sent at once
	notifyWithin   = time.Second
	reconnectAfter = time.Second
)

// news holds changed investigations that other processes have not been notified of. The notification follows after the commit, for
// several changes at once, because PostgreSQL serializes the commits of transactions that contain a NOTIFY.
type news struct {
	mu      sync.Mutex
	changed map[string]bool
	some    chan struct{} // has a value if there are any
}

func newNews() *news { return &news{changed: map[string]bool{}, some: make(chan struct{}, 1)} }

func (n *news) add(investigation string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changed[investigation] = true
	select {
	case n.some <- struct{}{}:
	default: // one is pending already
	}
}

func (n *news) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer clear(n.changed)
	return slices.Collect(maps.Keys(n.changed))
}

func (db *postgres) announce(investigation string) { db.news.add(investigation) }

// watch notifies other processes of changes and receives their notifications.
func (db *postgres) watch(ctx context.Context, h *hub) {
	var both sync.WaitGroup
	both.Go(func() { db.sendAll(ctx) })
	both.Go(func() { db.receive(ctx, h) })
	both.Wait()
}

func (db *postgres) sendAll(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-db.news.some:
			db.notify(ctx, db.news.take())
		}
		select {
		case <-ctx.Done(): // one last time
			db.notify(ctx, db.news.take())
		case <-time.After(notifyEvery):
		}
	}
}

// notify is not retried, because followers also poll.
func (db *postgres) notify(ctx context.Context, investigations []string) {
	if len(investigations) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyWithin)
	defer cancel()
	// Without waiting for the disk: the changes are committed already, and lost notifications do no harm.
	const query = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, investigation) FROM unnest($2::text[]) AS investigation`
	if _, err := db.pool.ExecContext(ctx, query, channel, investigations); err != nil {
		db.logger.DebugContext(ctx, "could not announce changes in the store", "error", err)
	}
}

func (db *postgres) receive(ctx context.Context, h *hub) {
	var away time.Time // when the connection was lost; zero means connected
	for {
		err := db.listen(ctx, h, func() {
			if !away.IsZero() {
				db.logger.WarnContext(ctx, "the store's database sends notifications again", "after", time.Since(away).Round(time.Second))
				away = time.Time{}
			}
		})
		if ctx.Err() != nil {
			return
		}
		if away.IsZero() {
			away = time.Now()
			db.logger.WarnContext(ctx, "the store's database sends no notifications; reconnecting until it does", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(reconnectAfter):
		}
	}
}

// listen wakes followers for each notification, until the connection breaks or ctx ends. It calls connected once it listens.
func (db *postgres) listen(ctx context.Context, h *hub, connected func()) error {
	conn, err := pgx.ConnectConfig(ctx, db.config)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyWithin)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	connected()
	h.wakeAll() // changes before this point were missed
	for {
		notification, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		h.wake(notification.Payload)
	}
}
