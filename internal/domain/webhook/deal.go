package webhook

import "github.com/einmal/einmal/internal/ground/ident"

// Endpoint is one for which something is due or in hand, as a node sees it.
type Endpoint struct {
	ID       ident.Webhook
	Tenant   ident.Partition
	Due      bool // something waits for its turn
	InFlight int  // deliveries that this node has in hand
	Most     int  // how many it may be: see Pace
	Ailing   bool // its last try failed
}

// Room is how much a node has in hand at most: in all, of a tenant, of an endpoint, and of endpoints that fail. What
// hangs waits for its time to end, so that it must never take all the room.
type Room struct{ All, Tenant, Endpoint, Ailing int }

// Grant is how many deliveries of an endpoint are to be claimed.
type Grant struct {
	ID ident.Webhook
	N  int
}

// Deal says whose deliveries a node takes next. Whoever has the least in hand comes first: the tenant, and of its
// endpoints the endpoint; so neither a tenant with many endpoints nor one that answers slowly takes the others' turn. An
// endpoint that fails gets one place, to see whether it is well again. turn moves on with every call, so that equals
// take turns.
func Deal(endpoints []Endpoint, room Room, turn int) []Grant {
	t := tableOf(endpoints, room)
	var grants []Grant
	at := map[ident.Webhook]int{}
	for t.left > 0 {
		e := t.next(turn)
		if e == nil {
			break
		}
		t.take(e)
		i, known := at[e.ID]
		if !known {
			i, at[e.ID] = len(grants), len(grants)
			grants = append(grants, Grant{ID: e.ID})
		}
		grants[i].N++
	}
	return grants
}

// table is who has how much in hand.
type table struct {
	room         Room
	left, ailing int
	tenants      map[ident.Partition]int
	endpoints    []Endpoint
}

func tableOf(endpoints []Endpoint, room Room) *table {
	t := &table{room: room, left: room.All, tenants: map[ident.Partition]int{}, endpoints: append([]Endpoint(nil), endpoints...)}
	for i := range t.endpoints {
		e := &t.endpoints[i]
		e.Due = e.Due && !e.half()
		t.left -= e.InFlight
		t.tenants[e.Tenant] += e.InFlight
		if e.Ailing {
			t.ailing += e.InFlight
		}
	}
	return t
}

// half reports whether an endpoint that is given many at a time has more than half of them yet. It gets the next ones
// together: a claim costs the store about the same for one and for thirty.
func (e *Endpoint) half() bool { return e.Most > FirstPace && e.InFlight > e.Most/2 }

// next is whoever may have a place and has the least.
func (t *table) next(turn int) (best *Endpoint) {
	n := len(t.endpoints)
	for i := range n {
		e := &t.endpoints[(i+turn%n+n)%n]
		if t.may(e) && (best == nil || t.less(e, best)) {
			best = e
		}
	}
	return best
}

func (t *table) less(e, than *Endpoint) bool {
	if mine, other := t.tenants[e.Tenant], t.tenants[than.Tenant]; mine != other {
		return mine < other
	}
	return e.InFlight < than.InFlight
}

func (t *table) may(e *Endpoint) bool {
	if !e.Due || e.Ailing && (e.InFlight > 0 || t.ailing >= t.room.Ailing) {
		return false
	}
	return e.InFlight < min(e.Most, t.room.Endpoint) && t.tenants[e.Tenant] < t.room.Tenant
}

func (t *table) take(e *Endpoint) {
	e.InFlight++
	t.left--
	t.tenants[e.Tenant]++
	if e.Ailing {
		t.ailing++
	}
}
