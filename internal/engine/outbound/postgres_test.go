//go:build services

package outbound

import (
	"testing"

	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/postgres"
	"github.com/einmal/einmal/internal/store/storetest"
)

func init() {
	engines["postgres"] = func(t *testing.T) (stores [2]store.Store) {
		url := storetest.PostgresDatabase(t).String()
		for i := range stores {
			st, err := postgres.Open(bg, postgres.Options{URL: url, Log: discard})
			if err != nil {
				t.Fatal(err)
			}
			closeWith(t, st)
			stores[i] = st
		}
		return stores
	}
}
