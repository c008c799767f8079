package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
)

var (
	insertSealing = define(`insert into sealing_key (tenant, day, wrapped) select {1}, {2}, {3} where true on conflict (tenant, day) do nothing`)
	findSealing   = define(`select id, wrapped from sealing_key where tenant = {1} and day = {2}`)
	readSealing   = define(`select wrapped from sealing_key where id = {1}`)
	readOwnKey    = define(`select wrapped from own_key where message_id = {1}`)
	// A key whose message still waits, or is being sent, is kept: its text is needed to send it, and its validity is as short.
	destroyOwn = define(`delete from own_key where message_id in (select k.message_id from own_key k where k.ends <= {1}
		and exists (select 1 from message_state s where s.message_id = k.message_id and s.queue <> {4}
			and (s.queue < {2} or s.valid_until <= {1}))
		order by k.message_id limit {3} {skip})`)
)

// EnsureSealingKey implements store.Registry.
func (s *Store) EnsureSealingKey(ctx context.Context, tenant ident.Partition, day int32, wrapped []byte) (id int64, stored []byte, err error) {
	err = s.once(ctx, func(t *tx) error {
		if _, err := t.exec(t.ctx, insertSealing, nil, tenant, day, wrapped); err != nil {
			return err
		}
		return t.row(t.ctx, findSealing, nil, scan1(&id, &stored), tenant, day)
	})
	return id, stored, err
}

// SealingKey implements store.Registry.
func (s *Store) SealingKey(ctx context.Context, id int64) ([]byte, error) {
	return s.secret(ctx, readSealing, id)
}

// OwnKey implements store.Registry.
func (s *Store) OwnKey(ctx context.Context, m ident.Message) ([]byte, error) {
	return s.secret(ctx, readOwnKey, m)
}

func (s *Store) secret(ctx context.Context, q *template, id any) ([]byte, error) {
	var wrapped []byte
	err := s.read().row(ctx, q, nil, scan1(&wrapped), id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "the key was destroyed: what it sealed cannot be read any more")
	}
	return wrapped, unavailable(err)
}

// DestroyOwnKeys implements store.Registry.
func (s *Store) DestroyOwnKeys(ctx context.Context, limit int) (int, error) {
	var n int64
	err := s.once(ctx, func(t *tx) error {
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		n, err = t.exec(t.ctx, destroyOwn, nil, now, evidence.FirstFlow, limit, evidence.QueueLease)
		return err
	})
	return int(n), err
}
