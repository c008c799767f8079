package bench

import (
	"context"
	"database/sql"
)

// size is what a store holds: rows, and bytes with indexes. What was deleted and whose space is used again later
// counts as long as it takes place.
type size struct{ rows, bytes int64 }

const (
	postgresTables = `select c.oid::regclass::text, pg_total_relation_size(c.oid) from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where n.nspname = 'public' and c.relkind = 'r'`
	sqliteTables = `select name, 0 from sqlite_schema where type = 'table' and name not like 'sqlite_%'`
	sqliteBytes  = `select page_count * page_size from pragma_page_count, pragma_page_size`
)

// size looks at every table.
func (s *scratch) size(ctx context.Context) (all size, err error) {
	db, err := s.bare(1)
	if err != nil {
		return all, err
	}
	defer closing(&err, db)
	list := postgresTables
	if s.admin == "" {
		list = sqliteTables
		if err := db.QueryRowContext(ctx, sqliteBytes).Scan(&all.bytes); err != nil {
			return all, err
		}
	}
	tables, err := tableSizes(ctx, db, list)
	if err != nil {
		return all, err
	}
	for name, bytes := range tables {
		var rows int64
		if err := db.QueryRowContext(ctx, "select count(*) from "+name).Scan(&rows); err != nil {
			return all, err
		}
		all.rows += rows
		all.bytes += bytes
	}
	return all, nil
}

func tableSizes(ctx context.Context, db *sql.DB, list string) (tables map[string]int64, err error) {
	res, err := db.QueryContext(ctx, list)
	if err != nil {
		return nil, err
	}
	defer closing(&err, res)
	tables = map[string]int64{}
	for res.Next() {
		var name string
		var bytes int64
		if err := res.Scan(&name, &bytes); err != nil {
			return nil, err
		}
		tables[name] = bytes
	}
	return tables, res.Err()
}

// waiting is how many events have not left yet.
func (s *scratch) waiting(ctx context.Context) (n int, err error) {
	db, err := s.bare(1)
	if err != nil {
		return 0, err
	}
	defer closing(&err, db)
	return n, db.QueryRowContext(ctx, "select count(*) from outbox").Scan(&n)
}
