package sqlstore

import (
	"context"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/store"
)

var (
	countAwaited = define(`select count(*), count(case when w.state = {3} then 1 end) from (select s.state from message_state s
		where s.queue = {1} and s.queue > 0 order by s.ready_at desc, s.message_id desc limit {2}) w`)
	// No tenant is below 0: it leads to the index of open exceptions.
	countForPeople = define(`select count(*) from (select 1 from exception x where x.tenant >= 0 and x.state = 1 limit {1}) w`)
	// No id is empty: it leads to the indexes of what waits and of what is dead.
	countUntold      = define(`select count(*) from (select 1 from webhook_delivery d where d.webhook_id > {1} and d.state < 3 limit {2}) w`)
	countDeadLetters = define(`select count(*) from (select 1 from webhook_delivery d where d.webhook_id > {1} and d.state = 4 limit {2}) w`)
)

// Backlog implements store.Backlogs.
func (s *Store) Backlog(ctx context.Context, connection int64, most int) (b store.Backlog, err error) {
	t := s.read()
	for lane := range b.Pending {
		from, to := flow.Place{Connection: connection, Lane: lane}.LaneRange()
		if err = t.row(ctx, countUnfinished, nil, scan1(&b.Pending[lane]), from, to-1, most); err != nil {
			return b, unavailable(err)
		}
	}
	err = t.row(ctx, countAwaited, nil, scan1(&b.Awaited, &b.Unknown), evidence.QueueFinality, most, message.Unknown)
	if err == nil {
		err = t.row(ctx, countForPeople, nil, scan1(&b.Exceptions), most)
	}
	if err == nil {
		err = t.row(ctx, countUntold, nil, scan1(&b.Untold), []byte{}, most)
	}
	if err == nil {
		err = t.row(ctx, countDeadLetters, nil, scan1(&b.Dead), []byte{}, most)
	}
	return b, unavailable(err)
}
