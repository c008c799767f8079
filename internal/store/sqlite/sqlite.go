// Package sqlite opens the embedded store: one file in the data folder, written by one connection with
// synchronous=FULL, read by a pool beside it (WAL).
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"modernc.org/sqlite" // and the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/store/sqlstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

var dialect = &sqlstore.Dialect{Name: "sqlite", OneWriter: true, Classify: classify}

// Options say where and how.
type Options struct {
	Path  string // of the file; its folder exists
	Clock clock.Clock
	Log   *slog.Logger
	// Retried is told of every transaction that is made again; nil: nobody counts.
	Retried func(sqlstore.Class)
}

// readers is how many connections read beside the writer.
const readers = 4

// Open opens the file, makes it if there is none, and brings its schema up to date.
func Open(ctx context.Context, o Options) (*sqlstore.Store, error) {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if err := refuseForeignLog(ctx, o.Path); err != nil {
		return nil, named(o.Path, err)
	}
	writer, err := sql.Open("sqlite", dsn(o.Path, "_txlock=immediate", pragma("foreign_keys(0)")))
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	version, err := prepare(ctx, writer)
	if err != nil {
		return nil, errors.Join(named(o.Path, err), writer.Close())
	}
	reader, err := sql.Open("sqlite", dsn(o.Path, pragma("query_only(1)")))
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	conn, err := writer.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, reader.Close(), writer.Close())
	}
	return sqlstore.New(sqlstore.Options{
		Dialect: dialect, Version: version, Writer: sqlstore.NewSingleWriter(conn), Reader: reader, Clock: o.Clock, Log: o.Log, Retried: o.Retried,
		Close: func() error { return errors.Join(reader.Close(), writer.Close()) },
	}), nil
}

// named says of which store an error is, and where a file comes from that cannot be read.
func named(path string, err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code()&0xff == sqlite3.SQLITE_NOTADB) {
		err = fmt.Errorf("%w; if a copy was put in its place while the files with -wal and -shm at the end of their names were there, "+
			"that is why: remove them, put the copy in its place again, and start", err)
	}
	return fmt.Errorf("the embedded store %s: %w", filepath.Base(path), err)
}

// prepare checks the library and the settings that durability stands on, migrates, and returns the schema's version.
func prepare(ctx context.Context, db *sql.DB) (int64, error) {
	var version, mode string
	var synchronous int
	for pragma, to := range map[string]any{"select sqlite_version()": &version, "pragma journal_mode": &mode, "pragma synchronous": &synchronous} {
		if err := db.QueryRowContext(ctx, pragma).Scan(to); err != nil {
			return 0, err
		}
	}
	if !atLeast(version, oldest) {
		return 0, fmt.Errorf("SQLite %s can corrupt its write-ahead log; build with 3.51.3 or later", version)
	}
	const full = 2
	if mode != "wal" || synchronous != full {
		return 0, fmt.Errorf("journal_mode is %s and synchronous %d; the store needs wal and full (2)", mode, synchronous)
	}
	schema, err := sqlstore.Migrate(ctx, db, sqlstore.SQLite, migrations)
	if err != nil {
		return 0, err
	}
	// So that a file has the table of commit numbers, by which refuseForeignLog goes, before there is a number.
	_, err = db.ExecContext(ctx, "pragma wal_checkpoint(passive)")
	return schema, err
}

// oldest is the first version without the bug that loses committed transactions of a WAL that is reset while
// another connection writes (sqlite.org, "WAL-reset bug").
var oldest = [3]int{3, 51, 3}

func atLeast(version string, want [3]int) bool {
	for i, part := range strings.SplitN(version, ".", 3) {
		n, err := strconv.Atoi(part)
		if err != nil || n < want[i] {
			return false
		}
		if n > want[i] {
			return true
		}
	}
	return true
}

func pragma(p string) string { return "_pragma=" + url.QueryEscape(p) }

// dsn names the file with the settings of every connection.
func dsn(path string, more ...string) string {
	settings := append([]string{
		pragma("busy_timeout(3000)"), pragma("journal_mode(wal)"), pragma("synchronous(full)"),
		pragma("wal_autocheckpoint(4000)"), pragma("cache_size(-16000)"), pragma("temp_store(memory)"),
	}, more...)
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + strings.Join(settings, "&")
}
