package sqlstore

import (
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var readVersions = define(`select s.message_id, s.state, s.final, s.last_event from {rows id bytes} cross join message_state s where s.message_id = r.id`)

// Versions implements store.Watcher.
func (s *Store) Versions(ctx context.Context, ids []ident.Message) (map[ident.Message]store.Version, error) {
	wanted := &rows{}
	for _, id := range ids {
		wanted.add(id)
	}
	found := make(map[ident.Message]store.Version, len(ids))
	err := s.read().query(ctx, readVersions, wanted, func(res *sql.Rows) error {
		var (
			id    []byte
			state message.State
			final int
			v     store.Version
		)
		err := res.Scan(&id, &state, &final, &v.LastEvent)
		v.State, v.Final = state, final == 1
		found[ident.Message(keyFrom(id))] = v
		return err
	})
	return found, unavailable(err)
}
