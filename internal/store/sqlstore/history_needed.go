package sqlstore

import (
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/ident"
)

// What is needed of what is old. Each of these ends: money by evidence or a person's word, an exception by a person's
// word, a delivery as delivered or as a dead letter.
var (
	heldOld   = define(`select t.id from {rows id bytes} cross join transfer t where t.id = r.id and t.kind = {1} and t.state = {2}`)
	openAbout = define(`select x.message_id from {rows id bytes} cross join exception x where x.message_id = r.id and x.state = 1`)
	untold    = define(`select d.message_id from {rows id bytes} cross join webhook_delivery d where d.message_id = r.id and d.state < 3`)
	unplaced  = define(`select o.message_id from {rows id bytes} cross join outbox o where o.message_id = r.id`)
	// There are few: of a receipt that may belong to several attempts, or to one whose answer was lost.
	openGuesses = define(`select x.candidates from exception x where x.id > {1} and x.state = 1 and length(x.candidates) > 0`)
)

// unneeded locks the states of messages, and leaves out those that have begun to move again, and those that somebody
// still needs: for which money is held, that an open exception names, or of which an endpoint is still to be told.
func (f *forgetting) unneeded(ctx context.Context, found *rows) (*rows, error) {
	var locked [][]byte
	needed, note := map[ident.Message]bool{}, func(res *sql.Rows) error {
		var id []byte
		err := res.Scan(&id)
		locked = append(locked, id)
		return err
	}
	if err := f.t.query(ctx, lockOld, found, note, f.before); err != nil {
		return nil, err
	}
	for _, q := range []struct {
		*template
		args []any
	}{{heldOld, []any{wallet.Charge, wallet.Held}}, {openAbout, nil}, {untold, nil}, {unplaced, nil}} {
		err := f.t.query(ctx, q.template, found, func(res *sql.Rows) error {
			var id []byte
			err := res.Scan(&id)
			needed[ident.Message(keyFrom(id))] = true
			return err
		}, q.args...)
		if err != nil {
			return nil, err
		}
	}
	err := f.t.query(ctx, openGuesses, nil, func(res *sql.Rows) error {
		var packed []byte
		err := res.Scan(&packed)
		for _, k := range partKeys(packed) {
			needed[k.Message] = true
		}
		return err
	}, []byte{})
	free := &rows{}
	for _, id := range locked {
		if !needed[ident.Message(keyFrom(id))] {
			free.add(id)
		}
	}
	return free, err
}
