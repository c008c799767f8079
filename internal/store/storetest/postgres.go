package storetest

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/einmal/einmal/internal/ground/ident"
)

// PostgresEnv names the server that tests use. make test brings one up and sets it.
const PostgresEnv = "EINMAL_TEST_POSTGRES"

// PostgresDatabase makes an empty database on the tests' server, removes it with the test, and returns its URL.
// Without a server the test fails: tests that need one are built with the tag "services" alone.
func PostgresDatabase(t testing.TB) *url.URL {
	t.Helper()
	u, err := url.Parse(os.Getenv(PostgresEnv))
	if err != nil || u.Host == "" {
		t.Fatal(PostgresEnv + " names no server: run make test, or set it to postgres://user:password@host:port/database")
	}
	admin, err := sql.Open("pgx", u.String())
	must(t, err)
	name := "einmal_" + strings.ReplaceAll(ident.NewNode().String(), "node_", "")
	_, err = admin.Exec("create database " + name)
	must(t, err)
	t.Cleanup(func() {
		if _, err := admin.Exec(fmt.Sprintf("drop database %s with (force)", name)); err != nil {
			t.Error(err)
		}
		must(t, admin.Close())
	})
	own := *u
	own.Path = "/" + name
	return &own
}
