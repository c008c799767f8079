package dispatch

import (
	"sync"
	"time"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// remainder is what is left to send of the long messages in hand: the first part was taken, and the others leave
// under the same claim as soon as there is room. They go before new claims: else they would stand behind a whole
// flood, while a handset waits for them.
type remainder struct {
	load load // parts that wait for room

	mu      sync.Mutex
	waiting []claim   // Most: how many parts
	asked   flow.Room // by a claim that is under way
	closed  bool
}

// ask is the room for a claim. It is the claim's until asked says that it is over.
func (d *Dispatcher) ask(now time.Time) flow.Room {
	d.rest.mu.Lock()
	defer d.rest.mu.Unlock()
	d.rest.asked = d.roomFor(now)
	return d.rest.asked
}

func (d *Dispatcher) asked() {
	d.rest.mu.Lock()
	defer d.rest.mu.Unlock()
	d.rest.asked = flow.Room{}
}

// rested puts on the messages whose worker may go on, by their cases as they were settled. asked is from before the
// store was: the lease that it gave ends later than we believe.
func (d *Dispatcher) rested(news []store.News, settled []store.Settled, asked time.Time) {
	deadline := asked.Add(d.cfg.Lease - d.cfg.Margin)
	seen := map[ident.Message]bool{} // of several answers in one batch each says the same
	for i, s := range settled {
		if news[i].Hold == 0 || s.Err != nil || seen[s.Message] {
			continue
		}
		seen[s.Message] = true
		if c := s.Case; c.GoOn > 0 && c.State == message.Sending && c.Fence == news[i].Fence {
			d.later(claim{store.Claimed{Message: c.Message, Flow: c.Flow, Fence: c.Fence, Most: c.GoOn}, deadline})
		}
	}
}

// later has parts wait for room. There may be some at once.
func (d *Dispatcher) later(c claim) {
	r := &d.rest
	r.mu.Lock()
	taken := !r.closed
	if taken {
		r.waiting = append(r.waiting, c)
		r.load.add(c.Claimed, int64(c.Most))
	}
	r.mu.Unlock()
	if !taken {
		d.giveBack(c.Claimed)
		return
	}
	d.goOn(time.Now())
	if r.load.all.Load() > 0 {
		signal(d.room) // the claiming goroutine hears of room
	}
}

// goOn has parts opened that there is room for, as many as fit. What has waited for too long is given back, and is
// claimed again before what stands behind it.
func (d *Dispatcher) goOn(now time.Time) {
	r := &d.rest
	if r.load.all.Load() == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	room := d.roomBeside(now, &load{})
	room.All, room.Lower = room.All-r.asked.All, room.Lower-r.asked.Lower
	waiting := r.waiting
	r.waiting = nil
	for _, c := range waiting {
		n := min(c.Most, places(room, c.Claimed))
		switch late := !now.Before(c.deadline); {
		case late:
			d.noteLate(1, now)
			r.load.add(c.Claimed, -int64(c.Most))
			d.giveBack(c.Claimed)
		case n == 0:
			r.waiting = append(r.waiting, c)
		default:
			r.load.add(c.Claimed, -int64(c.Most))
			c.Most = n // what is left comes with the answers
			room.All, room.Lower = room.All-n, room.Lower-n
			d.begin(c)
		}
	}
}

func places(room flow.Room, c store.Claimed) int {
	if urgent(c) {
		return max(room.All, 0)
	}
	return max(min(room.All, room.Lower), 0)
}

// begin hands parts to those who open them.
func (d *Dispatcher) begin(c claim) {
	d.reserved.add(c.Claimed, int64(c.Most))
	if !d.claims.put(c) {
		d.reserved.add(c.Claimed, -int64(c.Most))
		d.giveBack(c.Claimed)
	}
}

// giveBackRest ends the waiting: the dispatcher stops.
func (d *Dispatcher) giveBackRest() {
	r := &d.rest
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.waiting {
		r.load.add(c.Claimed, -int64(c.Most))
		d.giveBack(c.Claimed)
	}
	r.waiting, r.closed = nil, true
}
