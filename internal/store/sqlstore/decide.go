package sqlstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Decide implements store.Decider.
func (s *Store) Decide(ctx context.Context, batch []store.Submission, decide store.DecideFunc) ([]store.Decided, error) {
	out := make([]store.Decided, len(batch))
	locked := s.d.OneWriter // what is read is what there is
	err := s.isolate(ctx, len(batch), func(t *tx, lo, hi int, again bool) error {
		if t.held {
			return heldFault()
		}
		d := &deciding{t: t, batch: batch[lo:hi], decide: decide, locked: locked}
		results, err := d.run(t.ctx, again)
		locked = locked || errors.Is(err, errWalletMoved)
		copy(out[lo:hi], results)
		return err
	}, func(i int, err error) { out[i] = store.Decided{Err: inProgress(batch[i], err)} })
	return out, err
}

// inProgress is the answer to a request that waited too long for another one. With an idempotency key it is
// told that the same key is being worked on; without, only that it may come again.
func inProgress(s store.Submission, err error) error {
	if fault.CodeOf(err) != fault.Unavailable || s.Idempotency.Key.IsZero() {
		return err
	}
	return fault.Wrap(err, fault.InProgress, "a request with this idempotency key, or for the same intent, is being worked on").After(time.Second)
}

// deciding is one transaction of Decide.
type deciding struct {
	t      *tx
	batch  []store.Submission
	decide store.DecideFunc

	asked  map[slot]taking
	found  map[slot]held
	before map[ident.Decision]intent.Decision // committed by an earlier try of this batch
	facts  *intent.Facts
	out    []store.Decided

	locked  bool // the wallets are locked from before the fold on
	wallets map[ident.Partition]*wallet.Wallet
}

func (d *deciding) run(ctx context.Context, again bool) ([]store.Decided, error) {
	if err := d.t.sharePolicy(ctx, d.batch); err != nil {
		return nil, err
	}
	if err := d.lock(ctx); err != nil {
		return nil, err
	}
	if err := d.readWallets(ctx); err != nil {
		return nil, err
	}
	now, err := d.t.now(ctx)
	if err != nil {
		return nil, err
	}
	if again {
		if err := d.recognise(ctx); err != nil {
			return nil, err
		}
	}
	if d.facts, err = d.t.facts(ctx, d.found, now); err != nil {
		return nil, err
	}
	d.facts.Wallets = d.wallets
	if d.fold(); d.outrun() {
		return nil, errWalletMoved
	}
	if err := d.write(ctx); err != nil {
		return nil, err
	}
	chaos.At(chaos.DecideInserted)
	return d.out, nil
}

// recognise finds what an earlier try of this batch has committed. Its keys look as if this transaction had
// just made them, since the owners are our own ids; they are held by what is stored.
func (d *deciding) recognise(ctx context.Context) (err error) {
	if d.before, err = d.t.ownDecisions(ctx, d.batch); err != nil {
		return err
	}
	owners := map[[16]byte]bool{}
	for id, c := range d.before {
		owners[id], owners[c.Message.ID] = true, true
	}
	for k, h := range d.found {
		if owners[h.Owner] {
			h.Fresh = false
			d.found[k] = h
		}
	}
	return nil
}

// lock takes all keys of the batch, each once.
func (d *deciding) lock(ctx context.Context) error {
	guess, err := d.t.now(ctx) // for the ends of keys that nobody holds; the fold has the last word
	if err != nil {
		return err
	}
	d.asked = make(map[slot]taking, 2*len(d.batch))
	for _, s := range d.batch {
		for _, k := range intentSlots(s.Request) {
			d.ask(taking{k, s.Message, intent.WindowBound(s.Purpose.Window, guess)})
		}
		if !s.Idempotency.Key.IsZero() {
			d.ask(taking{slot{intent.SpaceIdempotency, s.Idempotency.Key}, s.Decision, intent.IdempotencyBound(guess)})
		}
	}
	want := make([]taking, 0, len(d.asked))
	for _, w := range d.asked {
		want = append(want, w)
	}
	d.found, err = d.t.take(ctx, want)
	return err
}

func (d *deciding) ask(w taking) {
	if _, there := d.asked[w.slot]; !there {
		d.asked[w.slot] = w
	}
}

// intentSlots lists the keys under which a request is compared.
func intentSlots(r *intent.Request) []slot {
	keys := []slot{{intent.SpaceIntent, r.Keys.Intent}}
	for _, k := range slices.Concat(r.Keys.Older, r.Keys.OlderVariants) {
		keys = append(keys, slot{intent.SpaceIntent, k.Key})
	}
	if !r.Keys.Variant.IsZero() {
		keys = append(keys, slot{intent.SpaceIntent, r.Keys.Variant})
	}
	if !r.Keys.Unanswered.IsZero() {
		keys = append(keys, slot{intent.SpaceIntent, r.Keys.Unanswered})
	}
	return keys
}

// fold decides in the batch's order. A request whose decision was committed by an earlier try keeps it, and
// nothing of it is written again.
func (d *deciding) fold() {
	d.out = make([]store.Decided, len(d.batch))
	for i, s := range d.batch {
		if have, ok := d.before[s.Decision]; ok {
			d.out[i].Result = intent.Result{Kind: intent.Decided, Decision: have}
			continue
		}
		d.out[i].Result = d.decide(s.Request, d.facts)
	}
}

// fresh reports whether this transaction has to write the decision of request i.
func (d *deciding) fresh(i int) bool {
	_, stored := d.before[d.batch[i].Decision]
	return d.out[i].Kind == intent.Decided && !stored
}

func (d *deciding) write(ctx context.Context) error {
	if err := d.writeRegister(ctx); err != nil {
		return err
	}
	if err := d.writeRepeats(ctx); err != nil {
		return err
	}
	if err := d.writeDecisions(ctx); err != nil {
		return err
	}
	if err := d.writeMessages(ctx); err != nil {
		return err
	}
	return d.charge(ctx)
}

// writeRegister gives the keys to whom the fold gave them: the last one that reserved a key holds it. A row
// that take made and nobody reserved goes again.
func (d *deciding) writeRegister(ctx context.Context) error {
	reserved := map[slot]taking{}
	for _, o := range d.out {
		for _, r := range o.Reserve {
			k := slot{r.Space, r.Key}
			reserved[k] = taking{k, r.Owner, r.Ends}
		}
	}
	var assign []taking
	var drop []slot
	for k, h := range d.found {
		want, ok := reserved[k]
		switch {
		case !ok && h.Fresh:
			drop = append(drop, k)
		case ok && (want.Owner != h.Owner || want.Ends != h.Ends):
			assign = append(assign, want)
		}
	}
	if err := d.t.assign(ctx, assign); err != nil {
		return err
	}
	return d.t.drop(ctx, drop)
}

// Preview implements store.Decider.
func (s *Store) Preview(ctx context.Context, sub store.Submission, decide store.DecideFunc) (intent.Result, error) {
	t, waits := s.read(), s.Held()
	found, err := t.look(ctx, intentSlots(sub.Request))
	if err != nil {
		return intent.Result{}, unavailable(err)
	}
	now, err := t.now(ctx)
	if err != nil {
		return intent.Result{}, unavailable(err)
	}
	facts, err := t.facts(ctx, found, now)
	if err != nil {
		return intent.Result{}, unavailable(err)
	}
	if err := t.previewWallets(ctx, sub.Request, facts); err != nil {
		return intent.Result{}, unavailable(err)
	}
	if waits { // then what would be decided is that about messages in doubt
		for _, h := range facts.Holders {
			h.Message.State = h.Message.State.WhileHeld()
		}
	}
	request := *sub.Request
	request.Idempotency = intent.Idempotency{}
	return decide(&request, facts), nil
}
