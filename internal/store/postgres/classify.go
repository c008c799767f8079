package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/einmal/einmal/internal/store/sqlstore"
)

// classes maps SQLSTATEs, or their first two characters, to what they mean for a batch (PostgreSQL manual,
// appendix A). The longest match counts.
var classes = map[string]sqlstore.Class{
	"22":    sqlstore.Poison,  // data exception
	"23":    sqlstore.Poison,  // integrity constraint violation
	"55P03": sqlstore.Stuck,   // lock_not_available: lock_timeout
	"57014": sqlstore.Stuck,   // query_canceled: statement_timeout
	"54":    sqlstore.Poison,  // program_limit_exceeded: a value too long for its index
	"08":    sqlstore.Lost,    // connection exception
	"40":    sqlstore.Again,   // transaction rollback: serialization_failure, deadlock_detected
	"40003": sqlstore.Lost,    // statement_completion_unknown
	"53":    sqlstore.Lost,    // insufficient resources: wait a little
	"57P":   sqlstore.Lost,    // admin_shutdown, crash_shutdown, cannot_connect_now
	"25006": sqlstore.Refused, // read_only_sql_transaction: a standby, or a server out of space
	"25P03": sqlstore.Lost,    // idle_in_transaction_session_timeout
}

func classify(err error) sqlstore.Class {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return sqlstore.Lost // whatever the server says to a newcomer, the batch has not begun
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		for n := 5; n >= 2; n-- {
			if class, ok := classes[pg.Code[:min(n, len(pg.Code))]]; ok {
				return class
			}
		}
		return sqlstore.Defect
	}
	if lost(err) {
		return sqlstore.Lost
	}
	return sqlstore.Defect
}

// lost reports that the connection ended without a word of the server.
func lost(err error) bool {
	var network net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrTxDone) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.As(err, &network) ||
		pgconn.SafeToRetry(err) || errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "conn closed")
}
