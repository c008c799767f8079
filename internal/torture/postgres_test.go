//go:build services

package torture_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/postgres"
	"github.com/einmal/einmal/internal/store/storetest"
)

func init() {
	engines["postgres"] = func(t *testing.T, _ string) engine {
		t.Helper()
		u := storetest.PostgresDatabase(t)
		open := func(u *url.URL) (store.Store, error) {
			return postgres.Open(context.Background(), postgres.Options{URL: u.String()})
		}
		return engine{url: u.String(), shared: true, open: func() (store.Store, error) { return open(u) }, copy: func(w *world, _ *process) func() {
			backup := storetest.PostgresDatabase(w.T)
			s, err := open(backup) // which makes the schema
			must(w, err)
			storetest.PostgresCopy(w.T, u, backup)
			must(w, s.Close())
			return func() { storetest.PostgresRestore(w.T, u, backup) }
		}}
	}
}
