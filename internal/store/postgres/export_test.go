package postgres

import (
	"context"
	"database/sql"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// CheckSettings is checkSettings for tests.
var CheckSettings = checkSettings

// SessionSettings reads what a session of ours runs with.
func SessionSettings(ctx context.Context, url string) (map[string]string, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*ours(config))
	defer func() { _ = db.Close() }()
	settings := map[string]string{}
	for name := range session {
		var value string
		if err := db.QueryRowContext(ctx, "select current_setting($1)", name).Scan(&value); err != nil {
			return nil, err
		}
		settings[name] = value
	}
	return settings, nil
}

// Migrations are this release's.
var Migrations fs.FS = migrations

// MigrateWith has a release with other migrations bring a schema up to its own.
func MigrateWith(ctx context.Context, url string, files fs.FS) (int64, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return 0, err
	}
	return migrate(ctx, config, files)
}

// Sessions opens sessions with the settings of ours.
func Sessions(url string) (*sql.DB, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	return stdlib.OpenDB(*ours(config)), nil
}
