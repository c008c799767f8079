package sqlstore

import (
	"context"
	"database/sql"
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

// Migrate brings a database's schema up to this release's and returns its version. Migrations of both engines
// share numbers and names.
func Migrate(ctx context.Context, db *sql.DB, e Engine, files fs.FS) (int64, error) {
	p, err := provider(db, e, files)
	if err != nil {
		return 0, err
	}
	if err := refuseNewer(ctx, p); err != nil {
		return 0, err
	}
	if _, err := p.Up(ctx); err != nil {
		return 0, err
	}
	return p.GetDBVersion(ctx)
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

// refuseNewer keeps an old release from a schema that it cannot read.
func refuseNewer(ctx context.Context, p *goose.Provider) error {
	have, err := p.GetDBVersion(ctx)
	if err != nil {
		return err
	}
	sources := p.ListSources()
	if last := sources[len(sources)-1].Version; have > last {
		return fmt.Errorf("its schema is version %d and this release knows versions up to %d: start a newer release", have, last)
	}
	return nil
}
