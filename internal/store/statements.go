package store

import (
	"context"
	"database/sql"
	"sync"
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
