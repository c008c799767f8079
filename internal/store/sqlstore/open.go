package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var (
	lockClaims = define(`select s.message_id, s.fence, s.ready_at, s.node, s.valid_until from {rows id bytes} cross join message_state s
		where s.message_id = r.id and s.state = {1} and s.queue = {2} order by s.message_id {update}`)
	openClaims = define(`update message_state set ready_at = {1} from {rows id bytes}
		where message_state.message_id = r.id and (message_state.state = {2}) is true`)
	insertParts = define(`insert into attempt_part (message_id, attempt, part, connection, node, outcome, delivery, external_id, reference,
		code, code_name, opened_at, answered_at, source_sent, destination_sent, receipt_requested, status_raw, error_code, delivered_at, fence)
		select id, attempt, part, {1}, {2}, {3}, {4}, {5}, reference, {6}, {6}, {7}, 0, source, destination, receipt, {6}, {6}, 0, fence
		from {rows id bytes, attempt int, part int, reference int, source text, destination text, receipt int, fence int}`)
	openReferences = define(`delete from external_id where id_space = {1} and kind = {2} and id in (select id from {rows id bytes})`)
)

// OpenAttempts implements store.Dispatcher. The fence and the lease are checked under the message's lock: a
// worker that was paused past its lease opens nothing (I9).
func (s *Store) OpenAttempts(ctx context.Context, spec store.OpenSpec, claims []store.Claimed) ([]store.Opened, error) {
	if spec.LookBack == 0 {
		spec.LookBack = defaultLookBack
	}
	var opened, tried []store.Opened
	err := s.persist(ctx, false, func(t *tx, again bool) (err error) {
		if opened = nil; t.held {
			return nil
		}
		if again {
			if opened, err = t.alreadyOpened(t.ctx, spec, tried); err != nil || len(opened) > 0 {
				return err
			}
		}
		opened, err = t.openAttempts(t.ctx, spec, claims)
		tried = append(tried, opened...)
		return err
	})
	if err == nil && len(opened) > 0 {
		s.flushed()
	}
	return opened, single(err)
}

// alreadyOpened finds the attempts that an earlier try of this very call has committed. One is ours only if the
// message is still under our fence, and what is stored was written by one of our tries: another call under the same
// claim may have opened the part. Anybody else's attempt is not to be touched.
func (t *tx) alreadyOpened(ctx context.Context, spec store.OpenSpec, tried []store.Opened) ([]store.Opened, error) {
	ids := openedIDs(tried)
	locked, err := t.lockClaims(ctx, spec, ids)
	if err != nil {
		return nil, err
	}
	attempts, err := t.attemptsOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(tried), func(o store.Opened) bool {
		return locked[o.Message].fence != o.Fence || !slices.ContainsFunc(attempts[o.Message], func(a storedAttempt) bool {
			return a.Outcome == message.OutcomeOpen && a.Part == o.Part && a.Attempt.Attempt == o.Attempt && a.openedAt == o.OpenedAt && a.Reference == o.Reference
		})
	}), nil
}

// openedIDs names each message once.
func openedIDs(opened []store.Opened) *rows {
	ids, seen := &rows{}, map[ident.Message]bool{}
	for _, o := range opened {
		if !seen[o.Message] {
			seen[o.Message] = true
			ids.add(o.Message)
		}
	}
	return ids
}

func (t *tx) openAttempts(ctx context.Context, spec store.OpenSpec, claims []store.Claimed) ([]store.Opened, error) {
	drafts, err := t.draftAttempts(ctx, spec, claims)
	if err != nil {
		return nil, err
	}
	if err := t.giveReferences(ctx, spec, drafts); err != nil {
		return nil, err
	}
	lawful, now, err := t.lockLawful(ctx, spec, drafts)
	if err != nil {
		return nil, err
	}
	// After the messages were locked: the later a stop is read, the better.
	held, err := t.heldFlows(ctx, spec.Connection, drafts)
	if err != nil {
		return nil, err
	}
	lost := &rows{} // references of claims that are lost, and of parts that wait
	opened := slices.DeleteFunc(drafts, func(o store.Opened) bool {
		if lawful[partKey{o.Message, o.Attempt, o.Part}] && !(o.Part > 1 && held[o.Flow]) {
			return false
		}
		if o.Reference >= 0 {
			lost.add(referenceID(uint16(o.Reference)))
		}
		return true
	})
	if opened, err = t.payForParts(ctx, spec, opened, lost); err != nil {
		return nil, err
	}
	if _, err := t.exec(ctx, openReferences, lost, spec.IDSpace, kindReference); err != nil {
		return nil, err
	}
	err = t.insertAttempts(ctx, spec, opened, now)
	if len(opened) > 0 {
		chaos.At(chaos.AttemptWritten)
	}
	return opened, err
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

// lockLawful locks the messages and returns those drafts that may be opened: of a message that is claimed by this
// node, under the fence that it was claimed with and a lease that still runs, the parts that are owed now.
func (t *tx) lockLawful(ctx context.Context, spec store.OpenSpec, drafts []store.Opened) (map[partKey]bool, clock.Micros, error) {
	ids := openedIDs(drafts)
	locked, err := t.lockClaims(ctx, spec, ids)
	if err != nil {
		return nil, 0, err
	}
	attempts, err := t.attemptsOf(ctx, ids)
	if err != nil {
		return nil, 0, err
	}
	now, err := t.now(ctx)
	lawful := make(map[partKey]bool, len(drafts))
	for _, o := range drafts {
		c, claimed := locked[o.Message]
		if !claimed || c.fence != o.Fence || now >= c.until || now >= c.valid {
			continue
		}
		k := caseOf(o, attempts[o.Message])
		if slices.Contains(k.Owed(now, spec.Together), o.Part) && k.NextAttempt(o.Part) == o.Attempt {
			lawful[partKey{o.Message, o.Attempt, o.Part}] = true
		}
	}
	return lawful, now, err
}

func (t *tx) insertAttempts(ctx context.Context, spec store.OpenSpec, opened []store.Opened, now clock.Micros) error {
	parts := &rows{}
	for i := range opened {
		o := &opened[i]
		o.OpenedAt = now
		source, destination := o.Sender, o.Destination
		if spec.Addressing != nil {
			source, destination = spec.Addressing(o.Sender, o.Destination)
		}
		parts.add(o.Message, o.Attempt, o.Part, o.Reference, source, destination, !o.NoReceipt, o.Fence)
	}
	if _, err := t.exec(ctx, insertParts, parts, spec.Connection, spec.Node, message.OutcomeOpen, message.DeliveryNone, []byte{}, "", now); err != nil {
		return err
	}
	_, err := t.exec(ctx, openClaims, openedIDs(opened), now.Add(spec.AnswerBy), message.Sending)
	return err
}
