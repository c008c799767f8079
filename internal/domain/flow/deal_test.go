package flow

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

func TestANumberSaysWhereItsFlowStands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Place{
			rapid.Int64Range(1, MaxConnection).Draw(t, "connection"), rapid.IntRange(0, Lanes-1).Draw(t, "lane"),
			ident.Partition(rapid.IntRange(0, int(ident.MaxPartition)).Draw(t, "tenant")),
		}
		from, to := p.Range()
		first, end := p.LaneRange()
		if from <= 16 || to <= from || PlaceOf(from) != p || PlaceOf(to-1) != p || PlaceOf(to) == p || from < first || to > end {
			t.Fatalf("%+v has the numbers from %d to %d in a lane from %d to %d", p, from, to, first, end)
		}
	})
}

// world draws flows of a few tenants in a few lanes, some of a sender with a rate, some held.
func drawQueues(t *rapid.T) *queues {
	q := newQueues()
	for range rapid.IntRange(1, 12).Draw(t, "flows") {
		id := flowIn(rapid.IntRange(0, Lanes-1).Draw(t, "lane"), ident.Partition(rapid.IntRange(1, 4).Draw(t, "tenant")), rapid.Int64Range(1, 3).Draw(t, "number"))
		q.put(id, rapid.IntRange(0, 40).Draw(t, "waiting"))
		q.senders[id] = rapid.SampledFrom([]string{"FREE", "SLOW", "SLOWER"}).Draw(t, "sender")
		q.held[id] = rapid.IntRange(0, 5).Draw(t, "held") == 0
	}
	q.rates = Rates{"SLOW": 10 * time.Millisecond, "SLOWER": time.Second}
	if rapid.Bool().Draw(t, "connection has a rate") {
		q.rates[""] = 5 * time.Millisecond
	}
	return q
}

// A deal gives no more than there is room, messages and credit for, nothing of what is held, and leaves no place
// empty that somebody could have had.
//
// covers: D19
func TestADealKeepsToItsBoundsAndWastesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawQueues(t)
		for range rapid.IntRange(1, 5).Draw(t, "claims") {
			q.advance(time.Duration(rapid.IntRange(0, 300).Draw(t, "ms")) * time.Millisecond)
			room := Room{All: rapid.IntRange(0, 60).Draw(t, "room")}
			room.Lower = rapid.IntRange(0, room.All).Draw(t, "of it for lower lanes")
			before, spent := maps.Clone(q.waits), maps.Clone(q.spent)
			taken, d := q.claim(room)
			checkBounds(t, q, room, before, taken)
			checkNothingWasted(t, q, room, taken)
			checkCredit(t, q, spent, taken)
			if len(d.Order()) != sum(taken) {
				t.Fatalf("%d messages were taken and %d put in order", sum(taken), len(d.Order()))
			}
		}
	})
}

func checkBounds(t *rapid.T, q *queues, room Room, before, taken map[int64]int) {
	lower := 0
	for id, n := range taken {
		if n > before[id] || n > 0 && q.held[id] {
			t.Fatalf("%d of %d messages were taken of a flow, held: %v", n, before[id], q.held[id])
		}
		if PlaceOf(id).Lane != Urgent {
			lower += n
		}
	}
	if sum(taken) > room.All || lower > room.Lower {
		t.Fatalf("%d messages were taken, %d of lower lanes; the room was %+v", sum(taken), lower, room)
	}
	for sender, every := range q.rates {
		c := Credit{Every: every}
		if q.spent[sender] > q.now.Add(c.ahead(Urgent)) {
			t.Fatalf("%q is %s ahead of its rate", sender, q.spent[sender].Sub(q.now))
		}
	}
}

// checkCredit holds what was spent against what was taken.
func checkCredit(t *rapid.T, q *queues, before map[string]clock.Micros, taken map[int64]int) {
	for sender, every := range q.rates {
		n := 0
		for id, k := range taken {
			if sender == "" || q.senders[id] == sender {
				n += k
			}
		}
		c := Credit{Every: every, Spent: before[sender]}
		if want := c.spent(q.now).Add(time.Duration(n) * every); n > 0 && q.spent[sender] != want {
			t.Fatalf("for %d messages %q has spent until %s too late", n, sender, q.spent[sender].Sub(want))
		}
	}
}

func checkNothingWasted(t *rapid.T, q *queues, room Room, taken map[int64]int) {
	purse, lower := q.purse(), sum(taken)-byLane(taken)[Urgent]
	for id, n := range q.waits {
		lane := PlaceOf(id).Lane
		fits := sum(taken) < room.All && (lane == Urgent || lower < room.Lower)
		if n > 0 && !q.held[id] && fits && purse.Wait(q.now, lane, q.senders[id]) <= 0 {
			t.Fatalf("%d messages of the lane %d wait with credit for them, and %d of %+v were taken", n, lane, sum(taken), room)
		}
	}
}

// While tenants of a lane have work they get the same number of messages, but for one, however many flows each
// has and however the room comes.
//
// covers: D19, I20
func TestTenantsOfALaneGetTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, got := newQueues(), map[ident.Partition]int{}
		tenants := rapid.IntRange(2, 6).Draw(t, "tenants")
		for tenant := 1; tenant <= tenants; tenant++ {
			for n := range rapid.Int64Range(1, 5).Draw(t, fmt.Sprint("flows of ", tenant)) {
				q.put(flowIn(4, ident.Partition(tenant), n+1), 1_000_000)
			}
		}
		for range rapid.IntRange(1, 20).Draw(t, "claims") {
			n := rapid.IntRange(0, 50).Draw(t, "room")
			taken, _ := q.claim(Room{n, n})
			for tenant, k := range byTenant(taken) {
				got[tenant] += k
			}
			counts := slices.Collect(maps.Values(got))
			if len(got) == tenants && slices.Max(counts)-slices.Min(counts) > 1 {
				t.Fatalf("the tenants got %v", got)
			}
		}
	})
}

// A tenant's flows get the same, too.
func TestFlowsOfATenantTakeTurns(t *testing.T) {
	q, got := newQueues(), map[int64]int{}
	for n := range int64(5) {
		q.put(flowIn(4, 1, n+1), 1000)
	}
	for _, n := range []int{1, 3, 7, 2, 20, 4} {
		taken, _ := q.claim(Room{n, n})
		for id, k := range taken {
			got[id] += k
		}
		if counts := slices.Collect(maps.Values(got)); len(got) == 5 && slices.Max(counts)-slices.Min(counts) > 1 {
			t.Errorf("the flows got %v", got)
		}
	}
}

// One tenant floods; whoever comes then has its message leave with the next claim that has a place for each.
//
// covers: D19, I20
func TestAFloodWaitsForItsNeighbours(t *testing.T) {
	q := newQueues()
	flood := q.put(flowIn(4, 1, 1), 20_000)
	for n := range int64(100) {
		q.put(flowIn(4, 1, 2+n), 100) // and has a hundred senders more
	}
	for range 10 {
		q.claim(Room{50, 50})
	}
	for tenant := ident.Partition(2); tenant <= 100; tenant++ {
		q.put(flowIn(4, tenant, 1), 1)
	}
	q.left = nil
	for range 3 {
		q.claim(Room{50, 50})
	}
	others := 0
	for _, id := range q.left {
		if PlaceOf(id).Tenant != 1 {
			others++
		}
	}
	if others != 99 || q.waits[flood] == 0 {
		t.Errorf("of the first 150 messages %d are of the 99 others, want all", others)
	}
}

// The urgent lane goes first; of the others each gets a small share for sure, also where the urgent one could take
// everything.
//
// covers: D19
func TestNoLaneIsStarved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, total := newQueues(), [Lanes]int{}
		for lane := range Lanes {
			q.put(flowIn(lane, 1, 1), 1_000_000)
		}
		for sum := 0; sum < 1000; {
			n := rapid.IntRange(1, 60).Draw(t, "room")
			taken, _ := q.claim(Room{n, n})
			for lane, k := range byLane(taken) {
				total[lane] += k
			}
			sum += n
		}
		if total[Urgent] < 800 {
			t.Fatalf("the urgent lane got %d of 1000", total[Urgent])
		}
		for lane, n := range total[1:] {
			if n < 1000/(guaranteed+Lanes) {
				t.Fatalf("lane %d got %d of 1000: %v", lane+1, n, total)
			}
		}
	})
}

// A code that comes leaves with the next claim, before any message of a campaign in it.
//
// covers: D19
func TestACodeLeavesFirst(t *testing.T) {
	q := newQueues()
	q.put(flowIn(4, 1, 1), 1000)
	q.claim(Room{9, 9})
	code := q.put(flowIn(Urgent, 2, 1), 1)
	q.left = nil
	q.claim(Room{10, 9})
	if len(q.left) != 10 || q.left[0] != code {
		t.Errorf("the code is not the first of %d", len(q.left))
	}
	q.put(code, 2)
	if taken, _ := q.claim(Room{1, 0}); taken[code] != 1 || sum(taken) != 1 {
		t.Errorf("of the place that is kept for codes %v was made", taken)
	}
}

// Where more tenants, or flows of one, wait than a claim looks at, the next one looks further: everybody's turn comes,
// also behind those that may not send.
func TestTurnsGoOnBehindWhatWasSeen(t *testing.T) {
	const most = 9
	for name, c := range map[string]struct {
		number func(i int) int64               // of flow i, from 1
		after  func(turns *Turns) (flow int64) // after which the look begins
	}{
		"tenants": {
			func(i int) int64 { return flowIn(4, ident.Partition(i), 1) },
			func(turns *Turns) int64 { return flowIn(4, turns.TenantAfter(4), 1) },
		},
		"flows": {
			func(i int) int64 { return flowIn(4, 1, int64(i)) },
			func(turns *Turns) int64 { return turns.FlowAfter(4, 1) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			q, got := newQueues(), map[int64]int{}
			for i := 1; i <= most; i++ {
				q.held[q.put(c.number(i), 3)] = i < 5
			}
			for range 6 {
				var seen []Waiting
				first := slices.IndexFunc(numbers(most, c.number), func(id int64) bool { return id > c.after(&q.turns) })
				for k := range 3 { // as the store looks: three after the last one
					id := c.number((max(first, 0)+k)%most + 1)
					seen = append(seen, Waiting{ID: id, Held: q.held[id] || q.waits[id] == 0})
				}
				deal(q, seen, got)
			}
			for i := 5; i <= most; i++ {
				if got[c.number(i)] == 0 {
					t.Errorf("flow %d never had its turn: %v", i, got)
				}
			}
		})
	}
}

func numbers(n int, number func(int) int64) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = number(i + 1)
	}
	return all
}

// deal gives two places to those that were seen.
func deal(q *queues, seen []Waiting, got map[int64]int) {
	d := NewDeal(&q.turns, seen, Room{2, 2}, nil, q.now)
	for shares := d.Next(); len(shares) > 0; shares = d.Next() {
		for _, s := range shares {
			n := min(s.N, q.waits[s.Flow])
			q.waits[s.Flow] -= n
			got[s.Flow] += n
			d.Got(s.Flow, n)
		}
	}
	q.turns.Take(d.Turn())
}
