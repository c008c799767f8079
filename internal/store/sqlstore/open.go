package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var (
	lockClaims = define(`select s.message_id, s.fence, s.ready_at, s.node, s.valid_until from {rows id bytes} cross join message_state s
		where s.message_id = r.id and s.state = {1} and s.queue = {2} order by s.message_id {update}`)
	readClaims = define(`select m.id, m.tenant, m.sender, m.destination, m.content, m.valid_until, k.wrapped,
		(select coalesce(max(a.attempt), 0) from attempt_part a where a.message_id = m.id)
		from {rows id bytes} cross join message m left join own_key k on k.message_id = m.id where m.id = r.id`)
	readOpen = define(`select a.message_id, a.attempt, a.reference, a.opened_at from {rows id bytes} cross join attempt_part a
		where a.message_id = r.id and a.outcome = {1}`)
	openClaims = define(`update message_state set ready_at = {1} from {rows id bytes}
		where message_state.message_id = r.id and (message_state.state = {2}) is true`)
	insertParts = define(`insert into attempt_part (message_id, attempt, part, connection, node, outcome, delivery, external_id, reference,
		code, code_name, opened_at, answered_at, source_sent, destination_sent, receipt_requested, status_raw, error_code, delivered_at)
		select id, attempt, part, {1}, {2}, {3}, {4}, {5}, reference, {6}, {6}, {7}, 0, source, destination, 1, {6}, {6}, 0
		from {rows id bytes, attempt int, part int, reference int, source text, destination text}`)
	openReferences = define(`delete from external_id where id_space = {1} and kind = {2} and id in (select id from {rows id bytes})`)
)

// OpenAttempts implements store.Dispatcher. The fence and the lease are checked under the message's lock: a
// worker that was paused past its lease opens nothing (I9).
func (s *Store) OpenAttempts(ctx context.Context, spec store.OpenSpec, claims []store.Claimed) ([]store.Opened, error) {
	if spec.LookBack == 0 {
		spec.LookBack = defaultLookBack
	}
	var opened []store.Opened
	err := s.persist(ctx, false, func(t *tx, again bool) (err error) {
		if again {
			if opened, err = t.alreadyOpened(t.ctx, spec, claims); err != nil || len(opened) > 0 {
				return err
			}
		}
		opened, err = t.openAttempts(t.ctx, spec, claims)
		return err
	})
	return opened, single(err)
}

// alreadyOpened finds the attempts that an earlier try of this very call has committed. One is ours only if the
// message is still under our fence: a fence opens one attempt. Anybody else's is not to be touched.
func (t *tx) alreadyOpened(ctx context.Context, spec store.OpenSpec, claims []store.Claimed) ([]store.Opened, error) {
	ids := claimIDs(claims)
	locked, err := t.lockClaims(ctx, spec, ids)
	if err != nil {
		return nil, err
	}
	open, err := t.openAttemptsOf(ctx, ids)
	if err != nil || len(open) == 0 {
		return nil, err
	}
	drafts, err := t.draftAttempts(ctx, claims, ids)
	opened := make([]store.Opened, 0, len(open))
	for _, o := range drafts {
		if have, ok := open[o.Message]; ok && locked[o.Message].fence == o.Fence {
			o.Attempt, o.Reference, o.OpenedAt = have.Attempt, have.Reference, have.OpenedAt
			opened = append(opened, o)
		}
	}
	return opened, err
}

func claimIDs(claims []store.Claimed) *rows {
	ids := &rows{}
	for _, c := range claims {
		ids.add(c.Message)
	}
	return ids
}

// openAttemptsOf finds attempts whose outcome is awaited.
func (t *tx) openAttemptsOf(ctx context.Context, ids *rows) (map[ident.Message]store.Opened, error) {
	open := map[ident.Message]store.Opened{}
	err := t.query(ctx, readOpen, ids, func(res *sql.Rows) error {
		var (
			id []byte
			o  store.Opened
		)
		err := res.Scan(&id, &o.Attempt, &o.Reference, &o.OpenedAt)
		open[ident.Message(keyFrom(id))] = o
		return err
	}, message.OutcomeOpen)
	return open, err
}

func (t *tx) openAttempts(ctx context.Context, spec store.OpenSpec, claims []store.Claimed) ([]store.Opened, error) {
	ids := claimIDs(claims)
	drafts, err := t.draftAttempts(ctx, claims, ids)
	if err != nil {
		return nil, err
	}
	if err := t.giveReferences(ctx, spec, drafts); err != nil {
		return nil, err
	}
	lawful, now, err := t.lockLawful(ctx, spec, ids)
	if err != nil {
		return nil, err
	}
	lost := &rows{} // references of claims that are lost
	opened := slices.DeleteFunc(drafts, func(o store.Opened) bool {
		if lawful[o.Message] == o.Fence {
			return false
		}
		if o.Reference >= 0 {
			lost.add(referenceID(uint16(o.Reference)))
		}
		return true
	})
	if _, err := t.exec(ctx, openReferences, lost, spec.IDSpace, kindReference); err != nil {
		return nil, err
	}
	return opened, t.insertAttempts(ctx, spec, opened, now)
}

// draftAttempts reads what the attempts need. Message rows never change, and the number of attempts is changed
// by the claim's owner alone: the fence that is checked later proves that this is still us.
func (t *tx) draftAttempts(ctx context.Context, claims []store.Claimed, ids *rows) ([]store.Opened, error) {
	byID := make(map[ident.Message]store.Claimed, len(claims))
	for _, c := range claims {
		byID[c.Message] = c
	}
	var drafts []store.Opened
	err := t.query(ctx, readClaims, ids, func(res *sql.Rows) error {
		var (
			id   []byte
			last uint16
			o    = store.Opened{Part: 1, Reference: -1}
		)
		if err := res.Scan(&id, &o.Tenant, &o.Sender, &o.Destination, &o.Content, &o.ValidUntil, &o.OwnKey, &last); err != nil {
			return err
		}
		o.Claimed, o.Attempt = byID[ident.Message(keyFrom(id))], last+1
		drafts = append(drafts, o)
		return nil
	})
	return drafts, err
}

// giveReferences takes the external-id records, which come before messages in the lock order.
func (t *tx) giveReferences(ctx context.Context, spec store.OpenSpec, drafts []store.Opened) error {
	if !spec.WithReference {
		return nil
	}
	now, err := t.now(ctx)
	if err != nil {
		return err
	}
	parts := make([]partKey, len(drafts))
	for i, o := range drafts {
		parts[i] = partKey{o.Message, o.Attempt, o.Part}
	}
	refs, err := t.takeOwnReferences(ctx, spec, parts, now)
	for i := range refs {
		drafts[i].Reference = refs[i]
	}
	return err
}

// lockedClaim is a message that this node has claimed, under its lock.
type lockedClaim struct {
	fence        int64
	until, valid clock.Micros
}

func (t *tx) lockClaims(ctx context.Context, spec store.OpenSpec, ids *rows) (map[ident.Message]lockedClaim, error) {
	locked := map[ident.Message]lockedClaim{}
	err := t.query(ctx, lockClaims, ids, func(res *sql.Rows) error {
		var (
			id, node []byte
			c        lockedClaim
		)
		if err := res.Scan(&id, &c.fence, &c.until, &node, &c.valid); err != nil {
			return err
		}
		if ident.Node(keyFrom(node)) == spec.Node {
			locked[ident.Message(keyFrom(id))] = c
		}
		return nil
	}, message.Sending, evidence.QueueLease)
	return locked, err
}

// lockLawful locks the messages and returns the fences of those that are claimed by this node under a lease
// that still runs, are still valid, and have no open attempt: a fence opens one.
func (t *tx) lockLawful(ctx context.Context, spec store.OpenSpec, ids *rows) (map[ident.Message]int64, clock.Micros, error) {
	locked, err := t.lockClaims(ctx, spec, ids)
	if err != nil {
		return nil, 0, err
	}
	open, err := t.openAttemptsOf(ctx, ids)
	if err != nil {
		return nil, 0, err
	}
	now, err := t.now(ctx)
	lawful := make(map[ident.Message]int64, len(locked))
	for id, c := range locked {
		if _, has := open[id]; !has && now < c.until && now < c.valid {
			lawful[id] = c.fence
		}
	}
	return lawful, now, err
}

func (t *tx) insertAttempts(ctx context.Context, spec store.OpenSpec, opened []store.Opened, now clock.Micros) error {
	parts, ids := &rows{}, &rows{}
	for i := range opened {
		o := &opened[i]
		o.OpenedAt = now
		source, destination := o.Sender, o.Destination
		if spec.Addressing != nil {
			source, destination = spec.Addressing(o.Sender, o.Destination)
		}
		parts.add(o.Message, o.Attempt, o.Part, o.Reference, source, destination)
		ids.add(o.Message)
	}
	if _, err := t.exec(ctx, insertParts, parts, spec.Connection, spec.Node, message.OutcomeOpen, message.DeliveryNone, []byte{}, "", now); err != nil {
		return err
	}
	_, err := t.exec(ctx, openClaims, ids, now.Add(spec.AnswerBy), message.Sending)
	return err
}
