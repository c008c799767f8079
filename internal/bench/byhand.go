package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// handTables are what an application keeps that does without a gateway: a key that must be unique, the message,
// and a line of the audit.
var handTables = []string{
	`create table app_key (tenant bigint not null, key text not null, message_id text not null, ends bigint not null, primary key (tenant, key))`,
	`create table app_message (id text primary key, tenant bigint not null, created_at bigint not null, destination text not null,
		sender text not null, body text not null, state text not null)`,
	`create table app_audit (id text primary key, tenant bigint not null, at bigint not null, message_id text not null, action text not null, reason text not null)`,
}

const (
	handKey     = `insert into app_key (tenant, key, message_id, ends) values ($1, $2, $3, $4) on conflict do nothing`
	handMessage = `insert into app_message (id, tenant, created_at, destination, sender, body, state) values ($1, $2, $3, $4, $5, $6, $7)`
	handAudit   = `insert into app_audit (id, tenant, at, message_id, action, reason) values ($1, $2, $3, $4, $5, $6)`
)

// slower is how many times fewer requests this side gets, so that its turn lasts no longer than the others'.
const slower = 10

// byHand writes a transaction for each request, as an application would: the key, the message, the audit. So many
// of them run at the same time.
func (b *bench) byHand(ctx context.Context, writers int) (got sample, err error) {
	s, err := newScratch(ctx, b.Options)
	if err != nil {
		return got, err
	}
	defer closing(&err, s)
	db, err := s.bare(writers)
	if err != nil {
		return got, err
	}
	defer closing(&err, db)
	for _, table := range handTables {
		if _, err := db.ExecContext(ctx, table); err != nil {
			return got, err
		}
	}
	n := max(b.Count/slower, 1)
	if _, err := inParallel(ctx, writers, warmUp/slower, func(i int) error { return handOne(ctx, db, n+i) }); err != nil {
		return got, err
	}
	m := b.meter()
	lat, err := inParallel(ctx, writers, n, func(i int) error { return handOne(ctx, db, i) })
	return m.stop(n, lat), err
}

func handOne(ctx context.Context, db *sql.DB, n int) error {
	t, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := handWrite(ctx, t, n); err != nil {
		return errors.Join(err, t.Rollback())
	}
	return t.Commit()
}

func handWrite(ctx context.Context, t *sql.Tx, n int) error {
	now, id := time.Now().UnixMicro(), fmt.Sprintf("msg_%032d", n)
	res, err := t.ExecContext(ctx, handKey, 1, orderID(n)+"/1/"+destination(n), id, now+int64(30*24*time.Hour/time.Microsecond))
	if err != nil {
		return err
	}
	if fresh, err := res.RowsAffected(); err != nil || fresh != 1 {
		return errors.Join(errors.New("the key is taken"), err)
	}
	if _, err := t.ExecContext(ctx, handMessage, id, 1, now, destination(n), "SHOP", orderText(n), "pending"); err != nil {
		return err
	}
	_, err = t.ExecContext(ctx, handAudit, fmt.Sprintf("dec_%032d", n), 1, now, id, "allow", "new_intent")
	return err
}
