package sqlstore

import (
	"context"
	"errors"
	"slices"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Settle implements store.Settler: outcomes, receipts, ends of times and wishes go one way, so that they meet.
func (s *Store) Settle(ctx context.Context, news []store.News, rules store.Rules) ([]store.Settled, error) {
	a := s.newApart(news, rules)
	err := s.isolate(ctx, len(news), func(t *tx, lo, hi int, _ bool) error {
		return a.run(t, lo, hi, func(*settling) error { return nil })
	}, func(i int, err error) { a.out[i] = store.Settled{Err: err} })
	return a.out, err
}

// settling is one transaction of Settle. Its steps lock in the order that package store documents.
type settling struct {
	t     *tx
	rules store.Rules
	now   clock.Micros

	news  []store.News // the given ones, then receipts that waited for one of their ids
	given int
	out   []store.Settled
	later []*store.News // of the same batch, put aside
	wary  bool          // no wallet is waited for, see apart

	records map[recordKey]*record // external-id records, locked
	cases   map[ident.Message]*caseRow
	owners  map[intent.Key][16]byte // of logical events: the first receipt

	eventsAsked []taking
	eventsFound map[slot]held

	resolving map[int]store.Resolution                 // of the given news, by their place
	spaces    map[int64]int64                          // id spaces by connection, for resolutions
	excepted  map[ident.Receipt]ident.Exception        // early receipts that a person has been told of; none: of a repeat
	held      map[ident.Exception]*exception.Exception // that this batch may close, locked
	applied   map[ident.Receipt]bool                   // receipts that had an effect

	rereads   []*rereading // the given receipts, where they are read again
	rereadBy  store.Rereading
	also      []ident.Message   // that are concerned beside those that news and records name
	mayHold   []ident.Exception // that are concerned beside the others
	histories map[ident.Message]*history

	exceptions []exception.Exception
	closed     []*exception.Exception
	fresh      map[ident.Receipt]bool // that this transaction appends to the log: they are not on the list of work yet
	finished   []ident.Receipt        // off the list of work
	waiting    []ident.Receipt        // on it until their grace is over
	redact     []ident.Receipt        // of messages whose text is a secret
}

func newSettling(t *tx, rules store.Rules, news []store.News) *settling {
	z := &settling{
		t: t, rules: rules,
		records: map[recordKey]*record{}, cases: map[ident.Message]*caseRow{}, owners: map[intent.Key][16]byte{},
		excepted: map[ident.Receipt]ident.Exception{}, held: map[ident.Exception]*exception.Exception{}, applied: map[ident.Receipt]bool{},
	}
	z.take(news)
	return z
}

func (z *settling) take(news []store.News) {
	z.news, z.given, z.out = news[:len(news):len(news)], len(news), make([]store.Settled, len(news))
}

func (z *settling) run(ctx context.Context) (err error) {
	for _, step := range []func(context.Context) error{
		z.lockIntake, z.lockRecords, z.gatherEarly, z.readMessages, z.lockRegisters, z.readClock, z.takeOverEvents, z.lockCases,
		z.lockExceptions, z.fold, z.settleLost, z.write,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	z.atPoints()
	return nil
}

// atPoints is where a failure test may end the process: everything is written, nothing committed.
func (z *settling) atPoints() {
	if len(z.finished)+len(z.waiting) > 0 {
		chaos.At(chaos.ReceiptApplied)
	}
	if z.holds(evidence.Outcome) {
		chaos.At(chaos.OutcomeWritten)
	}
	if z.holds(evidence.Restored) {
		chaos.At(chaos.DoubtWritten)
	}
	if z.holds(evidence.Resolved) {
		chaos.At(chaos.ResolveWritten)
	}
}

func (z *settling) holds(k evidence.Kind) bool {
	return slices.ContainsFunc(z.news, func(n store.News) bool { return n.Kind == k })
}

func (z *settling) readClock(ctx context.Context) (err error) {
	z.now, err = z.t.now(ctx)
	return err
}

// fold applies the news in order.
func (z *settling) fold(ctx context.Context) error {
	for i := range z.news {
		var err error
		switch {
		case i < z.given && (z.out[i].Known || z.out[i].Err != nil):
			continue
		case z.news[i].Kind == evidence.Receipt:
			err = z.foldReceipt(ctx, i)
		case z.news[i].Kind == evidence.Resolved:
			z.foldResolution(i)
		default:
			err = z.foldOther(ctx, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// foldOther applies everything but a receipt to the message that it names.
func (z *settling) foldOther(ctx context.Context, i int) error {
	n := &z.news[i]
	c := z.cases[n.Message]
	if c == nil || n.Tenant != nil && *n.Tenant != c.Tenant {
		z.out[i].Err = fault.New(fault.NotFound, "there is no such message")
		return nil
	}
	if err := z.recall(ctx, c, n.Evidence); err != nil {
		return err
	}
	z.out[i].Message, z.out[i].Case = n.Message, &c.Case
	if err := z.apply(n, c); err != nil {
		z.out[i].Err = err
		return nil
	}
	if n.Kind == evidence.Outcome {
		z.releaseReference(n, c)
	}
	return nil
}

// apply takes evidence that is no receipt. While the store is held nobody's wish counts and no validity ends: the
// message may have been sent. And an answer may come to an attempt that was made after the copy was taken: then the
// store does not remember it, and the answer is all the same.
func (z *settling) apply(n *store.News, c *caseRow) error {
	if z.t.held && waits[n.Kind] {
		return heldFault()
	}
	err := c.Apply(n.Evidence, z.now)
	if z.t.held && n.Kind == evidence.Outcome && errors.Is(err, evidence.ErrNoAttempt) && c.Apply(evidence.Evidence{Kind: evidence.Restored}, z.now) == nil {
		err = c.Apply(n.Evidence, z.now)
	}
	if err != nil {
		return evidenceFault(err, c.State)
	}
	return nil
}

// waits are the kinds of evidence that have to wait for a release: wishes, and ends of times that would call a
// message unsent.
var waits = map[evidence.Kind]bool{evidence.Cancel: true, evidence.ValidityEnded: true, evidence.LeaseEnded: true, evidence.Requeued: true}

func evidenceFault(err error, s message.State) error {
	switch {
	case errors.Is(err, evidence.ErrNoAttempt):
		return fault.Wrap(err, fault.NotFound, "there is no such attempt")
	case errors.Is(err, evidence.ErrNoMeaning):
		return fault.Wrap(err, fault.State, "the receipt's status has no documented meaning on this connection: say which state it stands for")
	case errors.Is(err, evidence.ErrHasMeaning):
		return fault.Wrap(err, fault.Invalid, "the evidence says itself what it stands for: leave the state out; it belongs to receipts whose status has no documented meaning")
	case errors.Is(err, evidence.ErrSettled):
		return fault.Wrap(err, fault.State, "it is known already what became of that attempt: the message is %s; an answer or a receipt that contradicts it becomes an exception", s)
	case errors.Is(err, evidence.ErrHandedOver):
		return fault.Wrap(err, fault.State, "the message is %s, and a provider has a part of it or may have", s)
	case errors.Is(err, evidence.ErrStillUnknown):
		return fault.Wrap(err, fault.State, "nothing of the message would leave: one of its parts had no answer before the store was restored, "+
			"or since, and the rest waits for it or will not be sent; attach that part's receipt first, then put the message back")
	}
	return fault.Wrap(err, fault.State, "the message is %s", s)
}

// releaseReference frees the own reference of an attempt that needs it no more: it has a message id, or was
// definitely not taken. While the outcome is unknown, or accepted without an id, the reference is all there is.
func (z *settling) releaseReference(n *store.News, c *caseRow) {
	if n.Reference < 0 {
		return
	}
	for _, a := range c.Attempts {
		if a.Attempt != n.Attempt || a.Part != n.Part {
			continue
		}
		settled := a.Outcome.Definite() && (a.Outcome != message.OutcomeAccepted || len(a.ExternalID) > 0)
		if r := z.records[referenceKey(n.IDSpace, n.Reference)]; r != nil && settled {
			r.free(partKey{n.Message, n.Attempt, n.Part})
		}
	}
}
