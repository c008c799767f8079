package sqlstore

import (
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

var (
	readWindowEnds = define(`select m.id, d.window_ends from {rows id bytes} cross join message m cross join decision d where m.id = r.id and d.id = m.decision_id`)
	openKeys       = define(`update register set ends = r.ends
		from {rows space int, key bytes, owner bytes, ends int}
		where register.space = r.space and register.key = r.key and register.owner = r.owner and register.ends < r.ends`)
)

// openKeys lets the keys of messages go on that a correction took back into their window, until the bound of it. One
// that another message holds by now is that message's: its request was a new intent then.
func (z *settling) openKeys(ctx context.Context, cases []*caseRow) error {
	ids := &rows{}
	for _, c := range cases {
		ids.add(c.Message)
	}
	keys := &rows{}
	err := z.t.query(ctx, readWindowEnds, ids, func(res *sql.Rows) error {
		var (
			id   []byte
			ends clock.Micros
		)
		err := res.Scan(&id, &ends)
		if ends > z.now {
			for _, k := range z.cases[ident.Message(keyFrom(id))].Keys {
				keys.add(intent.SpaceIntent, k, keyFrom(id), ends)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = z.t.exec(ctx, openKeys, keys)
	return err
}
