package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// PostgreSQL error codes with a meaning here:
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	codeDuplicate   = "23505" // unique_violation
	codeUnstorable  = "22021" // character_not_in_repertoire: NUL, or not UTF-8
	codeForbidden   = "42501" // insufficient_privilege
	codeReadOnly    = "25006" // read_only_sql_transaction
	codeLocked      = "55P03" // lock_not_available, after lock_timeout
	codeTooLongIdle = "25P03" // idle_in_transaction_session_timeout
)

// passingClasses are the prefixes of the codes for transient errors: connection trouble, rollbacks caused by other transactions,
// lack of resources, shutdowns.
var passingClasses = []string{"08", "40", "53", "57P"}

// explain describes PostgreSQL's error codes in words and marks errors that are worth a retry.
func (db *postgres) explain(err error) error {
	told, _ := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil, errors.Is(err, ErrUnavailable), errors.Is(err, context.Canceled):
		return err
	case told != nil:
		return explainCode(told.Code, plain(err))
	case isLost(err):
		return fmt.Errorf("%w: %w", ErrUnavailable, plain(err))
	}
	return err
}

// plain returns the last reason why a connection failed. The driver's own error has several lines, for each attempt.
func plain(err error) error {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); !ok {
		return err
	}
	told, _ := errors.AsType[*pgconn.PgError](err)
	network, _ := errors.AsType[*net.OpError](err)
	switch {
	case told != nil:
		return told
	case network != nil:
		return network
	}
	return err
}

func explainCode(code string, err error) error {
	passes := func(class string) bool { return strings.HasPrefix(code, class) }
	switch {
	case code == codeDuplicate:
		return fmt.Errorf("%w: %w", errDuplicate, err)
	case code == codeForbidden:
		return fmt.Errorf("the user must be allowed to create tables in the schema, and own them: %w", err)
	case code == codeReadOnly:
		return fmt.Errorf("%w: the server is a standby, or set to read-only: %w", ErrUnavailable, err)
	case code == codeLocked:
		return fmt.Errorf("%w: another process has kept it locked: %w", ErrUnavailable, err)
	case code == codeTooLongIdle, slices.ContainsFunc(passingClasses, passes):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// isLost reports whether the connection broke or could not be made.
func isLost(err error) bool {
	_, unmade := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return unmade || errors.Is(err, driver.ErrBadConn) || errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		network && !errors.Is(err, context.DeadlineExceeded)
}

// isUnstorable reports whether a query had a key that no row can have.
func isUnstorable(err error) bool {
	told, ok := errors.AsType[*pgconn.PgError](err)
	return ok && told.Code == codeUnstorable
}
