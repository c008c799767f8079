package sqlstore

import (
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var (
	scanAwaiting = define(`select message_id, queue, ready_at from message_state
		where (queue, ready_at, message_id) > ({1}, {2}, {3}) and queue > 0 order by queue, ready_at, message_id limit {4}`)
	readAwaited = define(`select a.message_id, a.attempt, a.part, a.external_id, a.code from {rows id bytes} cross join attempt_part a
		where a.message_id = r.id and a.connection = {1} and length(a.external_id) > 0 order by a.message_id, a.attempt, a.part`)
)

// AwaitedIDs implements store.ReceiptLog. Messages that wait for anything are in a queue; the others are final.
func (s *Store) AwaitedIDs(ctx context.Context, connection int64, from store.Cursor, scan int) ([]store.AwaitedID, store.Cursor, error) {
	var last store.Cursor
	messages := &rows{}
	err := s.read().query(ctx, scanAwaiting, nil, func(res *sql.Rows) error {
		var id []byte
		err := res.Scan(&id, &last.Queue, &last.ReadyAt)
		last.Message = ident.Message(keyFrom(id))
		messages.add(id)
		return err
	}, from.Queue, from.ReadyAt, from.Message, scan)
	if err != nil {
		return nil, from, unavailable(err)
	}
	if messages.len() < scan {
		last = store.Cursor{}
	}
	var all []store.AwaitedID
	err = s.read().query(ctx, readAwaited, messages, func(res *sql.Rows) error {
		var (
			id   []byte
			code string
			a    store.AwaitedID
		)
		err := res.Scan(&id, &a.Attempt, &a.Part, &a.ExternalID, &code)
		a.Message, a.Answered = ident.Message(keyFrom(id)), code != ""
		all = append(all, a)
		return err
	}, connection)
	return all, last, unavailable(err)
}
