package sqlstore

import (
	"database/sql"

	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// snapshotColumns are an event e and its message m: of both only what is never changed.
const snapshotColumns = `m.id, m.created_at, m.valid_until, m.decision_id, m.purpose, m.kind, m.policy_id, m.destination, m.sender,
	m.event_type, m.event_id, m.event_version, m.template_id, m.template_version, m.correlation_id, m.connection, m.intent_key, m.metadata, m.parts,
	e.n, e.at, e.kind, e.from_state, e.to_state, e.attempt, e.part, e.receipt_id, e.detail`

// scanSnapshot reads snapshotColumns, behind others.
func scanSnapshot(res *sql.Rows, before ...any) (store.FeedEvent, error) {
	var (
		f                 store.FeedEvent
		id, decision, key []byte
		m                 = &f.Facts
	)
	e, err := scanEvent(res, append(before, &id, &m.CreatedAt, &m.ValidUntil, &decision, &m.Purpose, &m.Kind, &m.PolicyID, &m.Destination, &m.Sender,
		&m.Event.Type, &m.Event.ID, &m.Event.Version, &m.Template.ID, &m.Template.Version, &m.CorrelationID, &m.Connection, &key, &m.Metadata, &m.Parts)...)
	f.Event, f.Message, m.Decision, m.IntentKey = e, ident.Message(keyFrom(id)), ident.Decision(keyFrom(decision)), keyFrom(key)
	m.Metadata, m.Parts = orNil(m.Metadata), max(1, m.Parts)
	return f, err
}
