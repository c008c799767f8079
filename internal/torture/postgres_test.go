//go:build services

package torture_test

import (
	"context"
	"testing"

	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/postgres"
	"github.com/einmal/einmal/internal/store/storetest"
)

func init() {
	engines["postgres"] = func(t *testing.T, _ string) engine {
		t.Helper()
		url := storetest.PostgresDatabase(t).String()
		return engine{url: url, shared: true, open: func() (store.Store, error) {
			return postgres.Open(context.Background(), postgres.Options{URL: url})
		}}
	}
}
