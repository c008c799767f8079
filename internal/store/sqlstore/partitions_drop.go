package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
)

// dropPartitions drops the oldest partitions if their time is over, one of each table a call, and takes out of "rest"
// what is old there and needed by nobody. It returns how many rows went one by one, and 1 more if partitions went.
func (t *tx) dropPartitions(ctx context.Context, bound [16]byte, limit int) (gone int, err error) {
	var (
		upto []byte
		name string
	)
	err = t.query(ctx, firstPartitions, nil, func(res *sql.Rows) error { return res.Scan(&upto, &name) }, bound[:])
	if err != nil {
		return 0, err
	}
	if upto != nil {
		if err := t.dropPartition(ctx, upto, name); err != nil {
			return 0, err
		}
		gone++
	}
	for _, p := range partitioned {
		n, err := t.clearRest(ctx, p.table, p.key, p.spare, bound, limit)
		if err != nil {
			return gone, err
		}
		gone += n
	}
	return gone, nil
}

// dropPartition moves what is kept to "rest" and drops the others. Who reads or writes the tables waits meanwhile: it is
// bounded by how much is kept.
func (t *tx) dropPartition(ctx context.Context, upto []byte, name string) error {
	for _, p := range partitioned {
		part := p.table + "_" + name
		for _, step := range []struct {
			sql  string
			args []any
		}{
			{fmt.Sprintf(`alter table %s detach partition %s`, p.table, part), nil},
			{fmt.Sprintf(`insert into %s `+p.kept, p.table, part), []any{upto}},
			{fmt.Sprintf(`drop table %s`, part), nil},
		} {
			if _, err := t.e.ExecContext(ctx, step.sql, step.args...); err != nil {
				return fmt.Errorf("%s: %w", step.sql, err)
			}
		}
	}
	_, err := t.exec(ctx, noPartition, nil, upto)
	return err
}

func (t *tx) clearRest(ctx context.Context, table, key, spare string, bound [16]byte, limit int) (int, error) {
	res, err := t.e.ExecContext(ctx, fmt.Sprintf(`delete from %[1]s_rest where %[2]s in (select k.%[2]s from %[1]s_rest k where k.%[2]s < $1 and %[3]s order by k.%[2]s limit $2)`,
		table, key, spare), bound[:], limit)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	t.changed = t.changed || n > 0
	return int(n), err
}
