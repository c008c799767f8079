package storetest

import (
	"context"
	"database/sql"
	"io"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// PostgresCopy fills a database that has the schema, and nothing else, with what another one holds at this moment: as
// a logical backup does, without keeping those from their work who use it.
func PostgresCopy(t *testing.T, from, to *url.URL) {
	t.Helper()
	ctx := context.Background()
	source, leave := connect(t, from)
	defer leave()
	target, leave := connect(t, to)
	defer leave()
	run(t, source, "begin transaction isolation level repeatable read read only")
	for _, table := range column(t, source, "select quote_ident(relname) from pg_class where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace order by 1") {
		run(t, target, "truncate "+table)
		r, w := io.Pipe()
		go func() {
			_, err := source.CopyTo(ctx, w, "copy (select * from "+table+") to stdout")
			_ = w.CloseWithError(err)
		}()
		_, err := target.CopyFrom(ctx, r, "copy "+table+" from stdin")
		must(t, err)
	}
	run(t, source, "commit")
	for _, set := range column(t, target, `select format('select setval(%L, (select coalesce(max(%I), 0) + 1 from %I), false)', pg_get_serial_sequence(quote_ident(c.relname), a.attname), a.attname, c.relname)
		from pg_class c join pg_attribute a on a.attrelid = c.oid where a.attidentity <> '' and c.relnamespace = 'public'::regnamespace and not c.relispartition`) {
		run(t, target, set)
	}
}

// PostgresRestore puts a copy in the place of a database, whoever is connected to that.
func PostgresRestore(t *testing.T, u, backup *url.URL) {
	t.Helper()
	server, err := url.Parse(os.Getenv(PostgresEnv))
	must(t, err)
	admin, leave := connect(t, server)
	defer leave()
	name := strings.TrimPrefix(u.Path, "/")
	run(t, admin, "drop database "+name+" with (force)")
	run(t, admin, "create database "+name+" template "+strings.TrimPrefix(backup.Path, "/"))
}

// PostgresFailover puts another database in the place of one that holds exactly what that has acknowledged: nobody
// can reach it from the moment of the copy on.
func PostgresFailover(t *testing.T, u *url.URL) {
	t.Helper()
	server, err := url.Parse(os.Getenv(PostgresEnv))
	must(t, err)
	admin, leave := connect(t, server)
	defer leave()
	name := strings.TrimPrefix(u.Path, "/")
	for _, step := range []string{
		"alter database " + name + " allow_connections false",
		"select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '" + name + "'",
		"create database " + name + "_next template " + name,
		"drop database " + name + " with (force)",
		"alter database " + name + "_next rename to " + name,
	} {
		run(t, admin, step)
	}
}

// connect opens one connection.
func connect(t *testing.T, u *url.URL) (c *pgconn.PgConn, leave func()) {
	t.Helper()
	db, err := sql.Open("pgx", u.String())
	must(t, err)
	conn, err := db.Conn(context.Background())
	must(t, err)
	must(t, conn.Raw(func(driver any) error {
		c = driver.(*stdlib.Conn).Conn().PgConn()
		return nil
	}))
	return c, func() {
		must(t, conn.Close())
		must(t, db.Close())
	}
}

func run(t *testing.T, c *pgconn.PgConn, query string) {
	t.Helper()
	_, err := c.Exec(context.Background(), query).ReadAll()
	must(t, err)
}

// column reads the first column of a result.
func column(t *testing.T, c *pgconn.PgConn, query string) (all []string) {
	t.Helper()
	results, err := c.Exec(context.Background(), query).ReadAll()
	must(t, err)
	for _, row := range results[0].Rows {
		all = append(all, string(row[0]))
	}
	return all
}
