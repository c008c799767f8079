package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

const messageColumns = `m.id, m.tenant, m.created_at, m.decision_id, m.purpose, m.kind, m.policy_id, m.destination, m.sender,
	m.event_type, m.event_id, m.event_version, m.template_id, m.template_version, m.correlation_id, m.connection, m.flow,
	m.intent_key, m.content, m.metadata, m.valid_until, m.receipt_until, m.parts, m.data_coding, m.joined_by, m.price, s.state, s.since, s.final`

func scanMessage(res *sql.Rows) (*store.Message, error) {
	var (
		m                 store.Message
		id, decision, key []byte
		final             int
	)
	err := res.Scan(&id, &m.Tenant, &m.CreatedAt, &decision, &m.Purpose, &m.Kind, &m.PolicyID, &m.Destination, &m.Sender,
		&m.Event.Type, &m.Event.ID, &m.Event.Version, &m.Template.ID, &m.Template.Version, &m.CorrelationID, &m.Connection, &m.Flow,
		&key, &m.Content, &m.Metadata, &m.ValidUntil, &m.ReceiptUntil, &m.Text.Parts, &m.Text.DataCoding, &m.Text.JoinedBy, &m.Price, &m.State, &m.Since, &final)
	m.ID, m.Decision, m.IntentKey = ident.Message(keyFrom(id)), ident.Decision(keyFrom(decision)), keyFrom(key)
	m.Metadata, m.Final = orNil(m.Metadata), final == 1
	return &m, err
}

var (
	readMessage    = define(`select ` + messageColumns + ` from message m join message_state s on s.message_id = m.id where m.id = {1} and m.tenant = {2}`)
	readAttempts   = define(`select ` + attemptColumns + ` from {rows id bytes} cross join attempt_part a where a.message_id = r.id order by a.message_id, a.attempt, a.part`)
	readEventsOf   = define(`select n, at, kind, from_state, to_state, attempt, part, receipt_id, detail from event where message_id = {1} and tenant = {2} and n > {3} order by n limit {4}`)
	attemptColumns = `a.message_id, a.attempt, a.part, a.outcome, a.delivery, a.external_id, a.reference, a.code, a.code_name, a.answered_at, a.status_raw, a.error_code, a.delivered_at, a.connection, a.node, a.opened_at, a.receipt_requested, a.source_sent, a.destination_sent, a.fence`
)

// Message implements store.Reader.
func (s *Store) Message(ctx context.Context, tenant ident.Partition, id ident.Message) (*store.Message, error) {
	var found []*store.Message
	err := s.read().query(ctx, readMessage, nil, func(res *sql.Rows) error {
		m, err := scanMessage(res)
		found = append(found, m)
		return err
	}, id, tenant)
	if err != nil {
		return nil, unavailable(err)
	}
	if len(found) == 0 {
		return nil, notFound("message")
	}
	return found[0], s.addAttempts(ctx, found)
}

func notFound(what string) error { return fault.New(fault.NotFound, "there is no such %s", what) }

func (s *Store) addAttempts(ctx context.Context, messages []*store.Message) error {
	ids, byID := &rows{}, map[ident.Message]*store.Message{}
	for _, m := range messages {
		ids.add(m.ID)
		byID[m.ID] = m
	}
	err := s.read().query(ctx, readAttempts, ids, func(res *sql.Rows) error {
		var (
			id, external, node []byte
			receipt            int
			a                  store.Attempt
		)
		if err := res.Scan(&id, &a.Attempt.Attempt, &a.Part, &a.Outcome, &a.Delivery, &external, &a.Reference, &a.Code, &a.CodeName, &a.AnsweredAt,
			&a.StatusRaw, &a.ErrorCode, &a.DeliveredAt, &a.Connection, &node, &a.OpenedAt, &receipt, &a.SourceSent, &a.DestinationSent, &a.Fence); err != nil {
			return err
		}
		a.ExternalID, a.Node, a.Receipt = orNil(external), ident.Node(keyFrom(node)), receipt == asked
		a.NoReceipt = receipt == askedNot
		m := byID[ident.Message(keyFrom(id))]
		m.Attempts = append(m.Attempts, a)
		return nil
	})
	if err != nil {
		return unavailable(err)
	}
	return s.addCosts(ctx, messages)
}

// Events implements store.Reader.
func (s *Store) Events(ctx context.Context, tenant ident.Partition, id ident.Message, after uint32, limit int) ([]evidence.Event, error) {
	var all []evidence.Event
	err := s.read().query(ctx, readEventsOf, nil, func(res *sql.Rows) error {
		e, err := scanEvent(res)
		all = append(all, e)
		return err
	}, id, tenant, after, limit)
	return all, unavailable(err)
}

func scanEvent(res *sql.Rows, before ...any) (evidence.Event, error) {
	var (
		e       evidence.Event
		receipt []byte
		detail  string
	)
	if err := res.Scan(append(before, &e.N, &e.At, &e.Kind, &e.From, &e.To, &e.Attempt, &e.Part, &receipt, &detail)...); err != nil {
		return e, err
	}
	e.Receipt = ident.Receipt(keyFrom(receipt))
	if detail == "" {
		return e, nil
	}
	return e, json.Unmarshal([]byte(detail), &e.Detail)
}

// clause is one condition of a list, with its parameters. The conditions are constants of this package; only
// values come from outside.
type clause struct {
	sql  string // with %s for each parameter
	args []any
}

// listTemplates keeps one template for each combination of conditions that was asked for.
var listTemplates sync.Map // text → *template

func list(selectFrom, order string, clauses []clause, limit int) (*template, []any) {
	var (
		conditions []string
		args       []any
	)
	for _, c := range clauses {
		params := make([]any, len(c.args))
		for i, a := range c.args {
			args = append(args, a)
			params[i] = fmt.Sprintf("{%d}", len(args))
		}
		conditions = append(conditions, fmt.Sprintf(c.sql, params...))
	}
	args = append(args, limit)
	text := fmt.Sprintf("%s where %s order by %s limit {%d}", selectFrom, strings.Join(conditions, " and "), order, len(args))
	q, ok := listTemplates.Load(text)
	if !ok {
		q, _ = listTemplates.LoadOrStore(text, parseTemplate(text))
	}
	return q.(*template), args
}

// after is the condition of a page that goes on where another ended.
func after(p store.Page, at, id string) []clause {
	if p.At == 0 {
		return nil
	}
	return []clause{{"(" + at + ", " + id + ") < (%s, %s)", []any{p.At, p.ID}}}
}

// Messages implements store.Reader.
func (s *Store) Messages(ctx context.Context, tenant ident.Partition, f store.MessageFilter, p store.Page) ([]*store.Message, error) {
	named, err := s.namedMessages(ctx, f)
	if err != nil {
		return nil, err
	}
	q, args := messageList(tenant, f, named, p)
	var all []*store.Message
	err = s.read().query(ctx, q, nil, func(res *sql.Rows) error {
		m, err := scanMessage(res)
		all = append(all, m)
		return err
	}, args...)
	if err != nil {
		return nil, unavailable(err)
	}
	return all, s.addAttempts(ctx, all)
}

// messageList is the statement of a list. The most telling condition leads it by its index; the tenant is then
// checked on each row. (A plus sign keeps a column from being looked up: SQLite, which has no statistics, would
// rather walk through everything that the tenant has.)
func messageList(tenant ident.Partition, f store.MessageFilter, named *clause, p store.Page) (*template, []any) {
	clauses := telling(f)
	if named != nil {
		clauses = append(clauses, *named)
	}
	own := "m.tenant = %s"
	if len(clauses) > 0 {
		own = "+m.tenant = %s"
	}
	clauses = append(clauses, clause{own, []any{tenant}})
	clauses = append(clauses, narrowing(f)...)
	clauses = append(clauses, after(p, "m.created_at", "m.id")...)
	return list(`select `+messageColumns+` from message m cross join message_state s`, "m.created_at desc, m.id desc",
		append(clauses, clause{sql: "s.message_id = m.id"}), p.Limit)
}

// conditions turns what is wanted into clauses.
type condition struct {
	wanted bool
	sql    string
	arg    any
}

func conditions(all ...condition) []clause {
	var clauses []clause
	for _, c := range all {
		if c.wanted {
			clauses = append(clauses, clause{c.sql, []any{c.arg}})
		}
	}
	return clauses
}

// telling are conditions with an index of their own.
func telling(f store.MessageFilter) []clause {
	return conditions(
		condition{f.Destination != "", "m.destination = %s", f.Destination},
		condition{f.EventID != "", "m.event_id <> '' and m.event_id = %s", f.EventID},
		condition{f.CorrelationID != "", "m.correlation_id <> '' and m.correlation_id = %s", f.CorrelationID},
		condition{!f.IntentKey.IsZero(), "m.intent_key = %s", f.IntentKey},
	)
}

// narrowing are conditions that rows are checked for.
func narrowing(f store.MessageFilter) []clause {
	return append(inStates(f.States), conditions(
		condition{f.Purpose != "", "m.purpose = %s", f.Purpose},
		condition{f.From != 0, "m.created_at >= %s", f.From},
		condition{f.Until != 0, "m.created_at < %s", f.Until},
	)...)
}

func inStates(states []message.State) []clause {
	if len(states) == 0 {
		return nil
	}
	args := make([]any, len(states))
	for i, s := range states {
		args[i] = s
	}
	return []clause{{"s.state in (" + placesFor(args) + ")", args}}
}

// placesFor is a place in a clause for each of the parameters.
func placesFor(args []any) string { return strings.TrimSuffix(strings.Repeat("%s, ", len(args)), ", ") }

var (
	findByExternal    = define(`select candidates from external_id where kind = {1} and id = {2} and id_space in (select id_space from connection)`)
	findByIdempotency = define(`select d.message_id from register g join decision d on d.id = g.owner where g.space = {1} and g.key = {2}`)
)

// namedMessages finds the messages that an external id or an idempotency key names; nil: neither was given.
func (s *Store) namedMessages(ctx context.Context, f store.MessageFilter) (*clause, error) {
	var ids []any
	var err error
	switch {
	case f.ExternalID != "":
		err = s.read().query(ctx, findByExternal, nil, func(res *sql.Rows) error {
			var candidates []byte
			err := res.Scan(&candidates)
			for _, k := range partKeys(candidates) {
				ids = append(ids, k.Message)
			}
			return err
		}, kindExternal, []byte(f.ExternalID))
	case !f.IdempotencyKey.IsZero():
		err = s.read().query(ctx, findByIdempotency, nil, func(res *sql.Rows) error {
			var id []byte
			err := res.Scan(&id)
			ids = append(ids, id)
			return err
		}, intent.SpaceIdempotency, f.IdempotencyKey)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, unavailable(err)
	}
	if len(ids) == 0 {
		return &clause{sql: "1 = 0"}, nil
	}
	return &clause{"m.id in (" + placesFor(ids) + ")", ids}, nil
}
