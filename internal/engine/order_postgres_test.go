//go:build services

package engine_test

import (
	"context"
	"testing"

	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/postgres"
	"github.com/einmal/einmal/internal/store/storetest"
)

func init() {
	stores["postgres"] = func(t testing.TB) store.Store {
		t.Helper()
		s, err := postgres.Open(context.Background(), postgres.Options{URL: storetest.PostgresDatabase(t).String()})
		must(t, err)
		return s
	}
}
