package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// How much of the queue one claim looks at. A claim costs the same whether a million messages wait or ten, and
// whether they wait in ten flows or in a hundred thousand.
const (
	lookFlows   = 32 // flows of a lane
	lookTenants = 32 // tenants of a lane with more flows than that, a flow of each at least
)

// walk steps through the flows with messages in stretches of their numbers: one look at the queue's index for each
// step, and no more than {2} steps in a stretch. With flow.TenantShift it steps from tenant to tenant. Whether something
// is due is a subquery with a limit: see TestNoExistsIsAValue.
var walk = define(`with recursive waiting (ends, queue, n) as (
		select r.ends, (select m.queue from message_state m where m.queue >= r.begins and m.queue < r.ends and m.queue > 0 order by m.queue limit 1), 1
			from {rows begins int, ends int}
		union all
		select w.ends, (select m.queue from message_state m
				where m.queue >= (((w.queue >> cast({1} as integer)) + 1) << cast({1} as integer)) and m.queue < w.ends and m.queue > 0 order by m.queue limit 1), w.n + 1
			from waiting w where w.queue is not null and w.n < {2})
	select f.id, f.sender, f.purpose, case when (select 1 from message_state s where s.queue > 0 and s.queue = f.id and s.ready_at <= {3} limit 1) is null then 0 else 1 end
		from waiting cross join flow f where f.id = waiting.queue`)

// sight is a flow that a walk has come to.
type sight struct {
	flow.Waiting
	purpose string
}

func (s sight) place() flow.Place { return flow.PlaceOf(s.ID) }

func (t *tx) walk(ctx context.Context, stretches *rows, shift, steps int, now clock.Micros) ([]sight, error) {
	var seen []sight
	err := t.query(ctx, walk, stretches, func(res *sql.Rows) error {
		var (
			s   sight
			due bool
		)
		err := res.Scan(&s.ID, &s.Sender, &s.purpose, &due)
		s.Held = !due
		seen = append(seen, s)
		return err
	}, shift, steps, now)
	return seen, err
}

// waiting finds the flows with work. Of a lane that has more than a claim looks at it takes the tenants whose turn it
// is, and of each the flows whose turn it is.
func (t *tx) waiting(ctx context.Context, spec store.ClaimSpec, now clock.Micros) (seen []sight, partial bool, err error) {
	last := flow.Urgent
	if spec.Room.Lower > 0 {
		last = flow.Lanes - 1
	}
	stretches := &rows{}
	for lane := flow.Urgent; lane <= last; lane++ {
		stretches.add(flow.Place{Connection: spec.Connection, Lane: lane}.LaneRange())
	}
	if seen, err = t.walk(ctx, stretches, flow.FlowShift, lookFlows+1, now); err != nil {
		return nil, false, err
	}
	inLane := [flow.Lanes]int{}
	for _, s := range seen {
		inLane[s.place().Lane]++
	}
	crowded := func(s sight) bool { return inLane[s.place().Lane] > lookFlows }
	if !slices.ContainsFunc(seen, crowded) {
		return seen, false, nil
	}
	more, err := t.lookFurther(ctx, spec, inLane, now)
	return append(slices.DeleteFunc(seen, crowded), more...), true, err
}

// lookFurther looks at the lanes with more flows than one claim looks at.
func (t *tx) lookFurther(ctx context.Context, spec store.ClaimSpec, inLane [flow.Lanes]int, now clock.Micros) ([]sight, error) {
	stretches := &rows{}
	for lane, n := range inLane {
		if n > lookFlows {
			begins, ends := flow.Place{Connection: spec.Connection, Lane: lane}.LaneRange()
			_, after := flow.Place{Connection: spec.Connection, Lane: lane, Tenant: spec.Turns.TenantAfter(lane)}.Range()
			stretches.add(after, ends)
			stretches.add(begins, after)
		}
	}
	tenants, err := t.walk(ctx, stretches, flow.TenantShift, lookTenants, now)
	if err != nil {
		return nil, err
	}
	stretches = &rows{}
	most, last := lookFlows, map[flow.Place]int64{} // the flow after which each tenant's turn goes on
	for lane, n := range inLane {
		if n <= lookFlows {
			continue
		}
		inTurn := tenantsInTurn(tenants, lane, spec.Turns.TenantAfter(lane))
		most = min(most, max(1, lookFlows/max(1, len(inTurn))))
		for _, p := range inTurn {
			begins, ends := p.Range()
			last[p] = spec.Turns.FlowAfter(lane, p.Tenant)
			after := max(begins, last[p]+1)
			stretches.add(after, ends)
			stretches.add(begins, after)
		}
	}
	seen, err := t.walk(ctx, stretches, flow.FlowShift, most, now)
	return flowsInTurn(seen, last, most), err
}

// tenantsInTurn are the tenants of a lane whose turn it is.
func tenantsInTurn(seen []sight, lane int, last ident.Partition) []flow.Place {
	var all []flow.Place
	for _, s := range seen {
		if p := s.place(); p.Lane == lane {
			all = append(all, p)
		}
	}
	all = flow.InTurn(all, int64(last), func(p flow.Place) int64 { return int64(p.Tenant) })
	return all[:min(len(all), lookTenants)]
}

// flowsInTurn are the flows of each tenant whose turn it is: what was seen from its beginning on counts only where
// there is not enough behind the last one, or the turn would go back there.
func flowsInTurn(seen []sight, last map[flow.Place]int64, most int) []sight {
	of, inTurn := map[flow.Place][]sight{}, []sight{}
	for _, s := range seen {
		of[s.place()] = append(of[s.place()], s)
	}
	for p, flows := range of {
		flows = flow.InTurn(flows, last[p], func(s sight) int64 { return s.ID })
		inTurn = append(inTurn, flows[:min(len(flows), most)]...)
	}
	return inTurn
}
