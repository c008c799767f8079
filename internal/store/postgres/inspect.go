package postgres

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/einmal/einmal/internal/store/sqlstore"
)

// undefinedTable is what is said of a store in which no release has been yet.
const undefinedTable = "42P01"

// Inspect looks at a store without changing it.
func Inspect(ctx context.Context, address string) (*sqlstore.Inspection, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, errors.New("the store's address is not a PostgreSQL URL: write postgres://user:password@host:port/database")
	}
	config.RuntimeParams["application_name"] = "einmal doctor"
	config.RuntimeParams["default_transaction_read_only"] = "on"
	db := stdlib.OpenDB(*config)
	i, err := inspect(ctx, db)
	return i, errors.Join(err, db.Close())
}

func inspect(ctx context.Context, db *sql.DB) (*sqlstore.Inspection, error) {
	i := &sqlstore.Inspection{Settings: map[string]string{}}
	var fsync, pages string
	err := db.QueryRowContext(ctx, `select current_setting('server_version'), clock_timestamp(), pg_is_in_recovery(),
		pg_database_size(current_database()), current_setting('fsync'), current_setting('full_page_writes')`).
		Scan(&i.Version, &i.Clock, &i.Standby, &i.Bytes, &fsync, &pages)
	if err != nil {
		return nil, err
	}
	i.Settings["fsync"], i.Settings["full_page_writes"] = fsync, pages
	if !i.Standby {
		// Whoever may not see the others' places in the log sees them as null.
		err = db.QueryRowContext(ctx, `select count(replay_lsn), coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)), 0)::bigint
			from pg_stat_replication`).Scan(&i.Standbys, &i.Behind)
	}
	if err == nil {
		err = i.Inspect(ctx, db, migrations)
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == undefinedTable {
		err = nil
	}
	return i, err
}

// Durable says what of a server's settings may lose what it has acknowledged; nil: nothing.
func Durable(settings map[string]string) error { return checkSettings(settings) }
