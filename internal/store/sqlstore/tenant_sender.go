package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

const senderColumns = `tenant, sender, by_default, created_at, created_by`

var (
	insertSender = define(`insert into sender (tenant, sender, by_default, created_at, created_by)
		select {1}, {2}, 0, {3}, {4} where true on conflict (tenant, sender) do nothing`)
	noDefault     = define(`update sender set by_default = 0 where tenant = {1} and by_default = 1`)
	setDefault    = define(`update sender set by_default = 1 where tenant = {1} and sender = {2}`)
	listSenders   = define(`select ` + senderColumns + ` from sender where tenant = {1} order by sender`)
	allSenders    = define(`select ` + senderColumns + ` from sender order by tenant, sender`)
	deleteSender  = define(`delete from sender where tenant = {1} and sender = {2}`)
	errTheDefault = fault.New(fault.State, "it is the default sender: make another one the default first")
)

func scanSender(res *sql.Rows) (s store.Sender, err error) {
	err = res.Scan(&s.Tenant, &s.Sender, &s.Default, &s.CreatedAt, &s.CreatedBy)
	return s, err
}

func isSender(text string) func(store.Sender) bool {
	return func(s store.Sender) bool { return s.Sender == text }
}

// PutSender implements store.Senders.
func (s *Store) PutSender(ctx context.Context, want store.Sender) (stored store.Sender, made bool, err error) {
	err = s.administer(ctx, want.Tenant, func(t *tx, _ store.Tenant) error {
		known, err := every(t.ctx, t, listSenders, scanSender, want.Tenant)
		if err != nil {
			return err
		}
		made = !slices.ContainsFunc(known, isSender(want.Sender))
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		if _, err := t.exec(t.ctx, insertSender, nil, want.Tenant, want.Sender, now, want.CreatedBy); err != nil {
			return err
		}
		if want.Default || len(known) == 0 {
			if err := t.makeDefault(want); err != nil {
				return err
			}
		}
		known, err = every(t.ctx, t, listSenders, scanSender, want.Tenant)
		if i := slices.IndexFunc(known, isSender(want.Sender)); err == nil {
			stored = known[i]
		}
		return err
	})
	return stored, made, err
}

func (t *tx) makeDefault(s store.Sender) error {
	if _, err := t.exec(t.ctx, noDefault, nil, s.Tenant); err != nil {
		return err
	}
	_, err := t.exec(t.ctx, setDefault, nil, s.Tenant, s.Sender)
	return err
}

// DeleteSender implements store.Senders.
func (s *Store) DeleteSender(ctx context.Context, of ident.Partition, sender string) (gone store.Sender, err error) {
	err = s.administer(ctx, of, func(t *tx, _ store.Tenant) error {
		known, err := every(t.ctx, t, listSenders, scanSender, of)
		i := slices.IndexFunc(known, isSender(sender))
		switch {
		case err != nil:
			return err
		case i < 0 && t.again && gone.Sender == sender:
			return nil // by the earlier try, or by somebody else meanwhile
		case i < 0:
			return notFound("sender")
		case known[i].Default && len(known) > 1:
			return errTheDefault
		}
		gone = known[i]
		_, err = t.exec(t.ctx, deleteSender, nil, of, sender)
		return err
	})
	return gone, err
}

// ListSenders implements store.Senders.
func (s *Store) ListSenders(ctx context.Context, of ident.Partition) ([]store.Sender, error) {
	all, err := every(ctx, s.read(), listSenders, scanSender, of)
	return all, unavailable(err)
}

// AllSenders implements store.Senders.
func (s *Store) AllSenders(ctx context.Context) ([]store.Sender, error) {
	all, err := every(ctx, s.read(), allSenders, scanSender)
	return all, unavailable(err)
}
