//go:build services

package api

import (
	"log/slog"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/store/postgres"
	"github.com/einmal/einmal/internal/store/storetest"
)

func init() {
	stores["postgres"] = func(t *testing.T) opened {
		t.Helper()
		source := storetest.PostgresDatabase(t).String()
		st, err := postgres.Open(t.Context(), postgres.Options{URL: source, Log: slog.New(slog.DiscardHandler)})
		must(t, err)
		wait := func(d time.Duration) { <-time.After(d) } // the server's clock is nobody's to move
		return opened{st, "pgx", source, `select tablename from pg_tables where schemaname = 'public'`, wait}
	}
}
