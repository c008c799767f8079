package sqlite

import (
	"context"
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/einmal/einmal/internal/store/sqlstore"
)

// classify says what an error of the driver means for a batch. Extended codes hold the primary one in their
// low eight bits (sqlite.org/rescode.html).
func classify(err error) sqlstore.Class {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sqlstore.ErrClosed) {
			return sqlstore.Refused
		}
		return sqlstore.Defect
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH:
		return sqlstore.Poison
	// Busy: we are the only writer, so another program holds the file, and busy_timeout has been waited for.
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT:
		return sqlstore.Refused
	}
	return sqlstore.Defect
}
