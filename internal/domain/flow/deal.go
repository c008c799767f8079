package flow

import (
	"cmp"
	"slices"
	"time"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// guaranteed is how many messages of more urgent lanes go before the next one of a lane that waits.
const guaranteed = 20

// Waiting is a flow with work, as a claim found it.
type Waiting struct {
	ID     int64
	Sender string
	Held   bool // by a stop, or nothing of it is due
}

// Share is how many messages of a flow are to be taken.
type Share struct {
	Flow int64
	N    int
}

// Deal gives the places of one claim to the flows that wait. Next says how many messages of each flow are to be
// taken, Got how many there were; that goes on until Next has nothing more to give.
type Deal struct {
	turns *Turns
	room  Room
	purse Purse
	now   clock.Micros

	lanes [Lanes][]*tenant
	flows map[int64]*waiting
	ring  [Lanes][]*tenant // who is asked next in this round: the first
	order []int64          // the flows in the order in which they were given places
	turn  Turn
	wait  time.Duration // until the first credit that somebody lacks; 0: nobody does
}

// tenant is a tenant's share of a lane.
type tenant struct {
	share
	flows []*waiting
	ring  []*waiting
}

type waiting struct {
	Waiting
	asked, got int
	dry        bool // it gave less than it was asked for
}

// NewDeal begins a deal. The turns are read and not changed; the purse is spent.
func NewDeal(turns *Turns, found []Waiting, room Room, purse Purse, now clock.Micros) *Deal {
	d := &Deal{
		turns: turns, room: room, purse: purse, now: now, flows: make(map[int64]*waiting, len(found)),
		turn: Turn{passed: turns.passed, tenants: map[int]ident.Partition{}, flows: map[share]int64{}},
	}
	for _, f := range found {
		d.add(f)
	}
	for lane := range d.lanes {
		d.lanes[lane] = InTurn(d.lanes[lane], int64(turns.tenant[lane]), func(t *tenant) int64 { return int64(t.tenant) })
		for _, t := range d.lanes[lane] {
			t.flows = InTurn(t.flows, turns.FlowAfter(lane, t.tenant), func(w *waiting) int64 { return w.ID })
		}
	}
	return d
}

func (d *Deal) add(f Waiting) {
	p := PlaceOf(f.ID)
	if p.Lane >= Lanes {
		return // of a later release
	}
	w := &waiting{Waiting: f}
	d.flows[f.ID] = w
	i := slices.IndexFunc(d.lanes[p.Lane], func(t *tenant) bool { return t.tenant == p.Tenant })
	if i < 0 {
		i = len(d.lanes[p.Lane])
		d.lanes[p.Lane] = append(d.lanes[p.Lane], &tenant{share: share{p.Lane, p.Tenant}})
	}
	d.lanes[p.Lane][i].flows = append(d.lanes[p.Lane][i].flows, w)
}

// InTurn sorts by number, beginning with the first one after the last that was served.
func InTurn[T any](all []T, last int64, number func(T) int64) []T {
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(number(a), number(b)) })
	i := slices.IndexFunc(all, func(one T) bool { return number(one) > last })
	if i < 0 {
		i = 0
	}
	return slices.Concat(all[i:], all[:i])
}

// Next gives away the places that are left. Nothing: there are none, or nobody who waits may take one.
func (d *Deal) Next() []Share {
	for lane, tenants := range d.lanes {
		for _, t := range tenants {
			t.ring = slices.DeleteFunc(slices.Clone(t.flows), func(w *waiting) bool { return w.dry || w.Held })
			if len(t.ring) == 0 {
				d.pass(t)
			}
		}
		d.ring[lane] = slices.DeleteFunc(slices.Clone(tenants), func(t *tenant) bool { return len(t.ring) == 0 })
	}
	for d.room.All > 0 && d.place() {
	}
	var shares []Share
	for _, w := range d.flows {
		if w.asked > 0 {
			shares = append(shares, Share{w.ID, w.asked})
		}
	}
	slices.SortFunc(shares, func(a, b Share) int { return cmp.Compare(a.Flow, b.Flow) })
	return shares
}

// place gives one place away.
func (d *Deal) place() bool {
	for lane := Lanes - 1; lane > Urgent; lane-- {
		if d.turn.passed[lane] >= guaranteed && d.give(lane) {
			return true
		}
	}
	for lane := range Lanes {
		if d.give(lane) {
			return true
		}
	}
	return false
}

// give gives a place to the lane's next flow that may take one.
func (d *Deal) give(lane int) bool {
	if lane != Urgent && d.room.Lower <= 0 {
		return false
	}
	for ring := &d.ring[lane]; len(*ring) > 0; *ring = (*ring)[1:] {
		t := (*ring)[0]
		if w := d.flowOf(t); w != nil {
			*ring = append((*ring)[1:], t)
			d.served(w, t.share)
			return true
		}
	}
	if last := len(d.lanes[lane]) - 1; last >= 0 {
		d.turn.tenants[lane] = d.lanes[lane][last].tenant // nobody else is left: the next claim looks further
	}
	d.turn.passed[lane] = 0
	return false
}

// flowOf is the tenant's next flow that may take a place.
func (d *Deal) flowOf(t *tenant) *waiting {
	for ; len(t.ring) > 0; t.ring = t.ring[1:] {
		w := t.ring[0]
		if d.purse.Spend(d.now, t.lane, w.Sender) {
			t.ring = append(t.ring[1:], w)
			return w
		}
		d.lack(d.purse.Wait(d.now, t.lane, w.Sender))
	}
	d.pass(t)
	return nil
}

// pass ends a tenant's turn: none of its flows that were found may take a place, and the next claim looks behind
// them.
func (d *Deal) pass(t *tenant) { d.turn.flows[t.share] = t.flows[len(t.flows)-1].ID }

func (d *Deal) lack(wait time.Duration) {
	if d.wait == 0 || wait < d.wait {
		d.wait = wait
	}
}

// served notes a place that was given.
func (d *Deal) served(w *waiting, s share) {
	w.asked++
	d.order = append(d.order, w.ID)
	d.room.All--
	if s.lane != Urgent {
		d.room.Lower--
	}
	d.turn.tenants[s.lane], d.turn.flows[s] = s.tenant, w.ID
	d.turn.passed[s.lane] = 0
	for below := s.lane + 1; below < Lanes; below++ {
		if len(d.ring[below]) == 0 {
			d.turn.passed[below] = 0
			continue
		}
		d.turn.passed[below] = min(d.turn.passed[below]+1, guaranteed)
	}
}

// Got says how many messages of a flow there were. Those that were not leave their places to others.
func (d *Deal) Got(flow int64, n int) {
	w := d.flows[flow]
	missing := w.asked - n
	w.got += n
	w.asked = 0
	if missing <= 0 {
		return
	}
	w.dry = true
	d.room.All += missing
	if PlaceOf(flow).Lane != Urgent {
		d.room.Lower += missing
	}
	d.purse.GiveBack(missing, w.Sender)
}

// Order lists the flows as they were given places, a message each: the order in which they are to leave.
func (d *Deal) Order() []int64 {
	left := make(map[int64]int, len(d.flows))
	for id, w := range d.flows {
		left[id] = w.got
	}
	return slices.DeleteFunc(d.order, func(id int64) bool {
		left[id]--
		return left[id] < 0
	})
}

// Turn is what the turns have to take over once the messages are taken for good.
func (d *Deal) Turn() Turn { return d.turn }

// More reports whether a flow that has credit may have more than it gave.
func (d *Deal) More() bool {
	for _, w := range d.flows {
		if !w.dry && !w.Held && d.purse.Wait(d.now, PlaceOf(w.ID).Lane, w.Sender) <= 0 {
			return true
		}
	}
	return false
}

// Wait is how long it takes until somebody who lacks credit has some; 0: nobody lacks any.
func (d *Deal) Wait() time.Duration { return d.wait }
