//go:build services

package app_test

import (
	"testing"

	"github.com/einmal/einmal/internal/store/storetest"
)

func init() {
	engines["postgres"] = func(t *testing.T) string {
		t.Helper()
		return storetest.PostgresDatabase(t).String()
	}
}
