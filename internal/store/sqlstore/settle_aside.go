package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var freeWallets = define(`select w.tenant from {rows tenant int} cross join wallet w where w.tenant = r.tenant and w.slice = {1} order by w.tenant {skip}`)

// errWalletsHeld says that a batch is to be run again without the news that need a wallet which somebody else holds.
var errWalletsHeld = errors.New("a wallet is held by somebody else")

// heldWallets is what a batch found locked. Without tenants it has waited in vain for one of its wallets, and does not
// know for which.
type heldWallets struct {
	tenants []ident.Partition
	cause   error
}

func (h *heldWallets) Error() string { return h.cause.Error() }
func (h *heldWallets) Unwrap() error { return h.cause }

// apart settles a batch and puts aside what needs a wallet that somebody holds for longer than a lock is waited for: one
// tenant's lock is not to keep another's answers from being stored. A batch waits once, and then asks which wallets are
// free. Halving would not do: each half that has one of the tenant's news in it would wait again.
type apart struct {
	s     *Store
	rules store.Rules
	news  []store.News
	out   []store.Settled
	wary  bool // it has waited, and waits for no wallet any more
	aside map[int]bool
}

func (s *Store) newApart(news []store.News, rules store.Rules) *apart {
	return &apart{s: s, rules: rules, news: news, out: make([]store.Settled, len(news)), aside: map[int]bool{}}
}

// run is one transaction over the news lo to hi. begin is what comes before it.
func (a *apart) run(t *tx, lo, hi int, begin func(*settling) error) error {
	var at []int
	var news []store.News
	z := newSettling(t, a.rules, nil)
	for i := lo; i < hi; i++ {
		if a.aside[i] {
			z.later = append(z.later, &a.news[i])
			continue
		}
		at, news = append(at, i), append(news, a.news[i])
	}
	z.take(news)
	z.wary = a.wary
	err := begin(z)
	if err == nil {
		err = z.run(t.ctx)
	}
	var held *heldWallets
	switch {
	case errors.As(err, &held):
		return a.put(z, at, held)
	case err != nil:
		return err
	}
	for k, i := range at {
		a.out[i] = z.out[k]
	}
	return nil
}

// put puts aside the news of tenants whose wallets are held.
func (a *apart) put(z *settling, at []int, held *heldWallets) error {
	if len(held.tenants) == 0 {
		a.wary = true
		a.s.retried(Stuck)
		return errWalletsHeld
	}
	stuck := (&poison{Stuck, held}).fault()
	before := len(a.aside)
	for k, i := range at {
		if c := z.cases[z.out[k].Message]; c != nil && slices.Contains(held.tenants, c.Tenant) {
			a.aside[i], a.out[i] = true, store.Settled{Err: stuck}
		}
	}
	if len(a.aside) == before {
		return stuck // it is none of the given news that moves that money: all are to be tried again
	}
	return errWalletsHeld
}

// askWallets looks which wallets are free before anything waits for them: of a batch that has waited already, and of
// tenants for whom another batch has waited in vain a moment ago.
func (z *settling) askWallets(ctx context.Context, tenants []ident.Partition) error {
	asked, stuck := tenants, &z.t.s.stuck
	if !z.wary {
		asked = stuck.suspected(tenants)
	}
	if len(asked) == 0 {
		return nil
	}
	held, err := z.t.heldOf(ctx, asked)
	switch {
	case err != nil:
		return err
	case len(held) > 0:
		if z.wary {
			stuck.note(held)
		}
		return &heldWallets{held, errWalletsHeld}
	}
	stuck.clear(asked)
	if len(asked) < len(tenants) {
		return errWalletsHeld // once more: the others would be locked out of their order
	}
	return nil
}

// heldOf locks the wallets that are free and returns the tenants of those that are not.
func (t *tx) heldOf(ctx context.Context, tenants []ident.Partition) (held []ident.Partition, err error) {
	there, err := t.wallets(ctx, tenants, false)
	if err != nil {
		return nil, err
	}
	r := &rows{}
	for _, id := range tenants {
		r.add(id)
	}
	err = t.query(ctx, freeWallets, r, func(res *sql.Rows) error {
		var id ident.Partition
		err := res.Scan(&id)
		delete(there, id)
		return err
	}, onlySlice)
	for _, id := range tenants {
		if there[id] != nil {
			held = append(held, id)
		}
	}
	return held, err
}

// waited marks what a wallet's statement waited for in vain. Whatever else is wrong keeps its class.
func (z *settling) waited(err error) error {
	if err == nil || z.wary || z.t.s.d.Classify(err) != Stuck {
		return err
	}
	return &heldWallets{nil, err}
}

// suspectFor is how long a wallet that was waited for in vain is asked after instead of waited for. Then one batch
// waits again: who only asks may never find a wallet free that is used all the time.
const suspectFor = 5 * time.Second

// stuckWallets are the tenants for whose wallets a batch has waited in vain.
type stuckWallets struct {
	mu    sync.Mutex
	until map[ident.Partition]time.Time
}

func (w *stuckWallets) note(tenants []ident.Partition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.until == nil {
		w.until = map[ident.Partition]time.Time{}
	}
	for _, id := range tenants {
		w.until[id] = time.Now().Add(suspectFor)
	}
}

func (w *stuckWallets) clear(tenants []ident.Partition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range tenants {
		delete(w.until, id)
	}
}

func (w *stuckWallets) suspected(tenants []ident.Partition) (found []ident.Partition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range tenants {
		switch until, ok := w.until[id]; {
		case ok && time.Now().Before(until):
			found = append(found, id)
		case ok:
			delete(w.until, id)
		}
	}
	return found
}
