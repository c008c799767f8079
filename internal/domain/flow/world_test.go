package flow

import (
	"time"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// queues are flows with the number of messages that wait in each, and who takes from them.
type queues struct {
	waits   map[int64]int
	senders map[int64]string
	held    map[int64]bool
	turns   Turns
	rates   Rates
	spent   map[string]clock.Micros
	now     clock.Micros
	left    []int64 // the flows of the messages that were taken, in their order
}

func newQueues() *queues {
	return &queues{waits: map[int64]int{}, senders: map[int64]string{}, held: map[int64]bool{}, spent: map[string]clock.Micros{}, now: 1_800_000_000_000_000}
}

// flowIn is the number of a tenant's n-th flow in a lane.
func flowIn(lane int, tenant ident.Partition, n int64) int64 {
	from, _ := Place{1, lane, tenant}.Range()
	return from + n
}

func (q *queues) put(flow int64, n int) int64 {
	q.waits[flow] += n
	return flow
}

func (q *queues) purse() Purse {
	p := Purse{}
	for sender, every := range q.rates {
		p[sender] = &Credit{Every: every, Spent: q.spent[sender]}
	}
	return p
}

// look is every flow with messages.
func (q *queues) look() []Waiting {
	var found []Waiting
	for id, n := range q.waits {
		if n > 0 {
			found = append(found, Waiting{ID: id, Sender: q.senders[id], Held: q.held[id]})
		}
	}
	return found
}

// claim takes messages as a store does, and returns how many of each flow.
func (q *queues) claim(room Room) (map[int64]int, *Deal) {
	purse := q.purse()
	d := NewDeal(&q.turns, q.look(), room, purse, q.now)
	taken := map[int64]int{}
	for shares := d.Next(); len(shares) > 0; shares = d.Next() {
		for _, s := range shares {
			n := min(s.N, q.waits[s.Flow])
			q.waits[s.Flow] -= n
			taken[s.Flow] += n
			d.Got(s.Flow, n)
		}
	}
	q.turns.Take(d.Turn())
	for sender, c := range purse {
		q.spent[sender] = c.Spent
	}
	q.left = append(q.left, d.Order()...)
	return taken, d
}

func (q *queues) advance(d time.Duration) { q.now = q.now.Add(d) }

func sum(taken map[int64]int) (n int) {
	for _, one := range taken {
		n += one
	}
	return n
}

func byTenant(taken map[int64]int) map[ident.Partition]int {
	n := map[ident.Partition]int{}
	for id, one := range taken {
		n[PlaceOf(id).Tenant] += one
	}
	return n
}

func byLane(taken map[int64]int) (n [Lanes]int) {
	for id, one := range taken {
		n[PlaceOf(id).Lane] += one
	}
	return n
}
