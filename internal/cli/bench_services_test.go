//go:build services

package cli

import (
	"testing"

	"github.com/einmal/einmal/internal/store/storetest"
)

func init() {
	benchStores["postgres"] = func(t *testing.T) string {
		t.Helper()
		return storetest.PostgresDatabase(t).String()
	}
}
