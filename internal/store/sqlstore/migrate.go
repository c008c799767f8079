package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// Engine names an engine for its migrations.
type Engine struct {
	dialect goose.Dialect
	locked  bool // several processes may migrate at once
}

// The engines.
var (
	SQLite   = Engine{goose.DialectSQLite3, false}
	Postgres = Engine{goose.DialectPostgres, true}
)

// Migrate brings a database's schema up to this release's, and returns the version that this release knows. A newer
// schema is left as it is, and refused unless releases of this version can work on it. Migrations of both engines share
// numbers and names.
func Migrate(ctx context.Context, db *sql.DB, e Engine, files fs.FS) (int64, error) {
	p, err := provider(db, e, files)
	if err != nil {
		return 0, err
	}
	have, err := p.GetDBVersion(ctx)
	if err != nil {
		return 0, err
	}
	sources := p.ListSources()
	known := sources[len(sources)-1].Version
	if have > known {
		return known, checkReader(ctx, db, have, known)
	}
	_, err = p.Up(ctx)
	return known, err
}

func provider(db *sql.DB, e Engine, files fs.FS) (*goose.Provider, error) {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if e.locked {
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	return goose.NewProvider(e.dialect, db, sub, options...)
}

// minReader is what migrations say of who can still work on the schema that they have made.
const minReader = "schema.min_reader"

// checkReader keeps a release from a newer schema that it cannot work on. One that does not say who can is for nobody
// else's use: it fails closed.
func checkReader(ctx context.Context, db *sql.DB, have, known int64) error {
	oldest := have
	err := db.QueryRowContext(ctx, "select cast(value as integer) from meta where name = '"+minReader+"'").Scan(&oldest)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return tooOld(have, oldest, known)
}

// tooOld is nil where a release that knows a version of the schema can work on the one that there is.
func tooOld(have, oldest, known int64) error {
	if have <= known || oldest <= known {
		return nil
	}
	return fmt.Errorf("its schema is version %d, which releases from version %d on can work on, and this release's version is %d: start a newer release", have, oldest, known)
}
