package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"

	"github.com/einmal/einmal/internal/domain/flow"
)

// messageColumns are those of the first release's message table; an empty text is read as empty bytes, too.
const messageColumns = `id, purpose, flow, tenant, created_at, connection, event_bound, while_states, valid_until, receipt_until,
	decision_id, kind, policy_id, destination, sender, event_type, event_id, event_version, template_id, template_version, correlation_id,
	intent_key, variant_key, text_key, content, metadata`

// FlowsMove migrates a database in which messages wait in flows of the first release: each must wait in the flow of
// its purpose afterwards, and what is claimed must stay so.
func FlowsMove(t *testing.T, db *sql.DB, p *goose.Provider) {
	ctx := context.Background()
	run := func(statement string) {
		t.Helper()
		_, err := db.ExecContext(ctx, statement)
		must(t, err)
	}
	_, err := p.UpTo(ctx, 1)
	must(t, err)
	run(`insert into flow (id, connection, lane, tenant, sender) values (16, 1, 2, 3, 'SHOP'), (17, 1, 4, 3, 'SHOP')`)
	for i, m := range []struct {
		purpose     string
		flow, queue int64
	}{{"order", 16, 16}, {"delivery", 16, 16}, {"order", 16, 1}, {"sale", 17, 17}} {
		run(fmt.Sprintf(`insert into message (%s) values ('m%d', '%s', %d, 3%s%s)`, messageColumns, i, m.purpose, m.flow, strings.Repeat(", 0", 6), strings.Repeat(", ''", 16)))
		run(fmt.Sprintf(`insert into message_state (message_id, state, since, final, last_event, queue, ready_at, fence, node, valid_until)
			values ('m%d', 4, 0, 0, 1, %d, 0, 0, '', 0)`, i, m.queue))
	}
	_, err = p.Up(ctx)
	must(t, err)
	rows, err := db.QueryContext(ctx, `select m.id, m.purpose, m.flow, s.queue, f.purpose, f.lane from message m join message_state s on s.message_id = m.id join flow f on f.id = m.flow order by m.id`)
	must(t, err)
	defer func() { _ = rows.Close() }() // what went wrong is asked for below
	n := 0
	for ; rows.Next(); n++ {
		var (
			id, purpose, of string
			in, queue       int64
			lane            int
		)
		must(t, rows.Scan(&id, &purpose, &in, &queue, &of, &lane))
		claimed := id == "m2"
		if want := (flow.Place{Connection: 1, Lane: lane, Tenant: 3}); flow.PlaceOf(in) != want || of != purpose || claimed != (queue == 1) || !claimed && queue != in {
			t.Errorf("%s of the purpose %s is in the flow %d of %s, and waits in %d", id, purpose, in, of, queue)
		}
	}
	must(t, rows.Err())
	if n != 4 {
		t.Errorf("%d of 4 messages are in a flow", n)
	}
	_, err = p.DownTo(ctx, 1)
	must(t, err)
}
