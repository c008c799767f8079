package webhook

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

func detail(kv ...string) map[string]string {
	d := map[string]string{}
	for i := 0; i+1 < len(kv); i += 2 {
		d[kv[i]] = kv[i+1]
	}
	return d
}

// covers: D16
func TestTypes(t *testing.T) {
	for want, e := range map[string]evidence.Event{
		"message.pending":     {Kind: evidence.EventTaken, To: message.Pending},
		"message.held":        {Kind: evidence.EventTaken, To: message.Held},
		"message.accepted":    {Kind: evidence.EventOutcome, From: message.Sending, To: message.Accepted, Detail: detail("outcome", "accepted")},
		"message.delivered":   {Kind: evidence.EventReceipt, From: message.Accepted, To: message.Delivered, Detail: detail("state", "delivered")},
		"message.undelivered": {Kind: evidence.EventReceipt, From: message.Accepted, To: message.Undelivered, Detail: detail("state", "undelivered")},
		"attempt.undelivered": {Kind: evidence.EventReceipt, From: message.Accepted, To: message.RetryDue, Detail: detail("state", "undelivered")},
		"attempt.rejected":    {Kind: evidence.EventOutcome, From: message.Sending, To: message.RetryDue, Detail: detail("outcome", "rejected")},
		"attempt.delivered":   {Kind: evidence.EventReceipt, From: message.Accepted, To: message.Accepted, Detail: detail("reported", "delivered", "state", "unknown")},
		"attempt.accepted":    {Kind: evidence.EventLate, From: message.Delivered, To: message.Delivered, Detail: detail("outcome", "accepted")},
		"attempt.receipt":     {Kind: evidence.EventReceipt, From: message.Accepted, To: message.Accepted, Detail: detail("state", "of a later release")},
		"message.repeated":    {Kind: evidence.EventRepeated, From: message.Delivered, To: message.Delivered},
		"message.closed":      {Kind: evidence.EventClosed, From: message.Accepted, To: message.Accepted},
	} {
		if got := TypeOf(e); got != want || !slices.Contains(Types(), got) {
			t.Errorf("%+v is %s, want %s, which has to be a type", e, got, want)
		}
	}
}

// Whatever an event is, its type is on the list, which is what an endpoint's filter is checked against.
func TestEveryTypeIsListed(t *testing.T) {
	kinds := append([]evidence.EventKind{evidence.EventTaken, evidence.EventOutcome, evidence.EventLate, evidence.EventReceipt}, stayingKinds...)
	rapid.Check(t, func(t *rapid.T) {
		e := evidence.Event{
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), From: rapid.SampledFrom(message.States()).Draw(t, "from"),
			To:     rapid.SampledFrom(message.States()).Draw(t, "to"),
			Detail: detail("outcome", rapid.String().Draw(t, "outcome"), "state", rapid.SampledFrom(attemptWords).Draw(t, "state")),
		}
		if !slices.Contains(Types(), TypeOf(e)) {
			t.Fatalf("%+v is %q", e, TypeOf(e))
		}
	})
}

func TestFilter(t *testing.T) {
	for _, c := range []struct {
		filter, event string
		want          bool
	}{
		{"*", "message.delivered", true},
		{"message.*", "message.delivered", true},
		{"message.*", "attempt.delivered", false},
		{"message.delivered attempt.*", "attempt.rejected", true},
		{"message.delivered", "message.deliveredx", false},
		{"message.deliver", "message.delivered", false},
		{"", "message.delivered", false},
	} {
		if got := ParseFilter(c.filter).Wants(c.event); got != c.want {
			t.Errorf("%q wants %s: %v", c.filter, c.event, got)
		}
	}
	for stored, wrong := range map[string]string{
		"*": "", "message.* attempt.*": "", "message.delivered": "", "message.deliverd": "message.deliverd", "message*": "message*", "* sms.*": "sms.*",
	} {
		if got := ParseFilter(stored).Wrong(); got != wrong || ParseFilter(stored).String() != stored {
			t.Errorf("%q: wrong is %q, want %q", stored, got, wrong)
		}
	}
}

const now = clock.Micros(1_000_000_000)

// The first tries come quickly, the last after three days, and none ever earlier than four fifths of its pause.
//
// covers: M6
func TestSchedule(t *testing.T) {
	var least, most time.Duration
	for n := 1; n < Tries(); n++ {
		early, ok := Next(n, 0, 0)
		late, _ := Next(n, 0, 0.999999)
		if !ok || early >= late || early < schedule[n-1]*8/10 || late > schedule[n-1]*12/10 {
			t.Errorf("after failure %d: %s to %s", n, early, late)
		}
		least, most = least+early, most+late
	}
	if least < 56*time.Hour || most > 88*time.Hour {
		t.Errorf("all tries take from %s to %s", least, most)
	}
	if _, ok := Next(Tries(), 0, 0); ok {
		t.Error("there is one try more")
	}
	for asked, want := range map[time.Duration]time.Duration{time.Second: 5 * time.Second, time.Hour: time.Hour, 1000 * time.Hour: 24 * time.Hour} {
		if got, _ := Next(1, asked, 0.5); got != want {
			t.Errorf("asked for %s it waits %s, want %s", asked, got, want)
		}
	}
}

// covers: I12
func TestVerdicts(t *testing.T) {
	for status := 100; status < 600; status++ {
		want := Failed
		switch {
		case status >= 200 && status < 300:
			want = Took
		case status == 410:
			want = Refused
		}
		if got := (Answer{Status: status}).Verdict(); got != want {
			t.Errorf("%d is %d, want %d", status, got, want)
		}
	}
	for _, p := range []Problem{Timeout, Unreachable, Unresolved, BadTLS, Broken, Forbidden, Unbuilt} {
		if got := (Answer{Status: 200, Problem: p}).Verdict(); got != Failed {
			t.Errorf("%s is %d", p, got)
		}
	}
	if (Answer{Problem: NoTime}).Verdict() != Unsent || (Answer{Problem: Disabled}).Verdict() != Unsent {
		t.Error("what was not posted has failed")
	}
}

// covers: I12
func TestSettle(t *testing.T) {
	claimed := Delivery{State: Delivering, Fence: 3, Failures: 1, NextAt: now + 9}
	yes, no := Answer{Status: 204}, Answer{Status: 500}
	for name, c := range map[string]struct {
		d    Delivery
		r    Result
		want Delivery
	}{
		"delivered": {claimed, Result{Fence: 3, Answer: yes}, Delivery{State: Delivered, Fence: 3, Failures: 1, NextAt: now + 9, DoneAt: now, Status: 204}},
		"failed":    {claimed, Result{Fence: 3, Answer: no, Jitter: 0.5}, Delivery{State: Pending, Fence: 3, Failures: 2, NextAt: now.Add(30 * time.Second), Status: 500}},
		"gone":      {claimed, Result{Fence: 3, Answer: Answer{Status: 410}}, Delivery{State: Dead, Fence: 3, Failures: 2, NextAt: now + 9, DoneAt: now, Status: 410}},
		"unsent":    {claimed, Result{Fence: 3, Answer: Answer{Problem: NoTime}}, Delivery{State: Pending, Fence: 3, Failures: 1, NextAt: now}},
		"no store":  {claimed, Result{Fence: 3, Answer: Answer{Problem: NoStore}}, Delivery{State: Pending, Fence: 3, Failures: 1, NextAt: now.Add(time.Second)}},
		"disabled":  {claimed, Result{Fence: 3, Answer: Answer{Problem: Disabled}}, Delivery{State: Pending, Fence: 3, Failures: 1, NextAt: now}},
		"the last": {Delivery{State: Delivering, Fence: 3, Failures: Tries() - 1}, Result{Fence: 3, Answer: Answer{Problem: Timeout}},
			Delivery{State: Dead, Fence: 3, Failures: Tries(), DoneAt: now, Problem: Timeout}},
		"late failure":         {claimed, Result{Fence: 2, Answer: no}, claimed},
		"late success":         {claimed, Result{Fence: 2, Answer: yes}, Delivery{State: Delivered, Fence: 3, Failures: 1, NextAt: now + 9, DoneAt: now, Status: 204}},
		"success after death":  {Delivery{State: Dead, Fence: 3}, Result{Fence: 3, Answer: yes}, Delivery{State: Delivered, Fence: 3, DoneAt: now, Status: 204}},
		"success while idle":   {Delivery{State: Pending, Fence: 3}, Result{Fence: 1, Answer: yes}, Delivery{State: Delivered, Fence: 3, DoneAt: now, Status: 204}},
		"failure of the done":  {Delivery{State: Delivered, Fence: 3, Status: 200}, Result{Fence: 3, Answer: no}, Delivery{State: Delivered, Fence: 3, Status: 200}},
		"failure while idle":   {Delivery{State: Pending, Fence: 3}, Result{Fence: 3, Answer: no}, Delivery{State: Pending, Fence: 3}},
		"failure of the dead":  {Delivery{State: Dead, Fence: 3, Failures: 11}, Result{Fence: 3, Answer: no}, Delivery{State: Dead, Fence: 3, Failures: 11}},
		"success when done is": {Delivery{State: Delivered, Fence: 3, DoneAt: 5}, Result{Fence: 3, Answer: yes}, Delivery{State: Delivered, Fence: 3, DoneAt: 5}},
	} {
		if got := Settle(c.d, c.r, now); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// Whatever is reported in whatever order, each step is in the table, and what was delivered once is delivered.
//
// covers: I12
func TestSettleWalks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Delivery{State: Pending}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			before := d
			claim := rapid.Bool().Draw(t, "claim")
			if claim && (d.State == Pending || d.State == Delivering) {
				d.State, d.Fence = Delivering, d.Fence+1
			} else {
				r := Result{Fence: rapid.Int64Range(0, d.Fence).Draw(t, "fence"), Jitter: rapid.Float64Range(0, 0.99).Draw(t, "jitter")}
				r.Answer = Answer{Status: rapid.SampledFrom([]int{0, 200, 302, 410, 500}).Draw(t, "status")}
				d = Settle(d, r, now)
			}
			if d.State != before.State && !Allowed(before.State, d.State) {
				t.Fatalf("%s became %s", before.State, d.State)
			}
			if before.State == Delivered && d != before {
				t.Fatalf("what was delivered became %+v", d)
			}
			if d.Failures > Tries() || (d.State == Dead) != (d.DoneAt != 0 && d.State != Delivered) {
				t.Fatalf("%+v", d)
			}
		}
	})
}

func TestAgain(t *testing.T) {
	for _, s := range States() {
		d, ok := Again(Delivery{State: s, Fence: 7, Failures: 11, DoneAt: 5, Status: 500}, now)
		want := Delivery{State: Pending, Fence: 7, NextAt: now, Status: 500}
		if ended := s == Delivered || s == Dead; ok != ended || ok && d != want || ended != Allowed(s, Pending) && s != Delivering {
			t.Errorf("%s: %+v %v", s, d, ok)
		}
		if back, ok := ParseState(s.String()); !ok || back != s {
			t.Errorf("%s was read as %d", s, back)
		}
	}
	if _, ok := ParseState("sent"); ok || State(9).String() != "" || Allowed(9, Dead) {
		t.Error("what is no state is one")
	}
}

func endpoint(n byte, tenant ident.Partition, inFlight int, ailing bool) Endpoint {
	return Endpoint{ID: ident.Webhook{n}, Tenant: tenant, Due: true, InFlight: inFlight, Ailing: ailing, Most: FirstPace}
}

func granted(grants []Grant) map[byte]int {
	got := map[byte]int{}
	for _, g := range grants {
		got[g.ID[0]] += g.N
	}
	return got
}

// A tenant with many endpoints, one that hangs and one that fails: none takes the others' turn.
//
// covers: I20, M6
func TestDeal(t *testing.T) {
	room := Room{All: 8, Tenant: 6, Endpoint: 4, Ailing: 2}
	for name, c := range map[string]struct {
		all  []Endpoint
		want map[byte]int
	}{
		"alone":                {[]Endpoint{endpoint(1, 1, 0, false)}, map[byte]int{1: 4}},
		"a tenant alone":       {[]Endpoint{endpoint(1, 1, 0, false), endpoint(2, 1, 0, false)}, map[byte]int{1: 3, 2: 3}},
		"two tenants":          {[]Endpoint{endpoint(1, 1, 0, false), endpoint(2, 1, 0, false), endpoint(3, 2, 0, false)}, map[byte]int{1: 2, 2: 2, 3: 4}},
		"who has much in hand": {[]Endpoint{endpoint(1, 1, 4, false), endpoint(2, 2, 0, false)}, map[byte]int{2: 4}},
		"one that fails":       {[]Endpoint{endpoint(1, 1, 0, true), endpoint(2, 2, 0, false)}, map[byte]int{1: 1, 2: 4}},
		"many that fail": {[]Endpoint{endpoint(1, 1, 1, true), endpoint(2, 2, 0, true), endpoint(3, 3, 0, true), endpoint(4, 4, 0, false)},
			map[byte]int{2: 1, 4: 4}},
		"nothing is due":    {[]Endpoint{{ID: ident.Webhook{1}, Tenant: 1}}, map[byte]int{}},
		"all is taken":      {[]Endpoint{{ID: ident.Webhook{1}, Tenant: 1, InFlight: 8}, endpoint(2, 2, 0, false)}, map[byte]int{}},
		"of the tenant all": {[]Endpoint{{ID: ident.Webhook{1}, Tenant: 1, InFlight: 6}, endpoint(2, 1, 0, false), endpoint(3, 2, 0, false)}, map[byte]int{3: 2}},
	} {
		got := granted(Deal(c.all, room, 0))
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		for id, n := range c.want {
			if got[id] != n {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
	}
}

// What an endpoint may have in hand grows with each quick yes, and is one after a failure.
func TestPace(t *testing.T) {
	pace := FirstPace
	for range MostPace {
		pace = Pace(pace, Took, time.Millisecond)
	}
	if pace != MostPace || Pace(pace, Unsent, 0) != MostPace {
		t.Errorf("after many it is %d", pace)
	}
	for _, v := range []Verdict{Failed, Refused} {
		if got := Pace(pace, v, time.Millisecond); got != 1 {
			t.Errorf("after verdict %d it is %d", v, got)
		}
	}
	if got := Pace(1, Took, time.Millisecond); got != 2 {
		t.Errorf("once it is well again it is %d", got)
	}
	if got := Pace(pace, Took, 2*time.Second); got != FirstPace {
		t.Errorf("after a slow answer it is %d", got)
	}
}

// What is given many at a time is given half of them together, and never more than the room.
func TestHalf(t *testing.T) {
	for in, want := range map[int]int{0: 64, 32: 32, 33: 0, 63: 0} {
		e := Endpoint{ID: ident.Webhook{1}, Tenant: 1, Due: true, InFlight: in, Most: 64}
		if got := granted(Deal([]Endpoint{e}, Room{All: 100, Tenant: 100, Endpoint: 64}, 0))[1]; got != want {
			t.Errorf("with %d in hand it gets %d, want %d", in, got, want)
		}
	}
}

// With room for one, equals take turns.
func TestTurns(t *testing.T) {
	all := []Endpoint{endpoint(1, 1, 0, false), endpoint(2, 2, 0, false), endpoint(3, 3, 0, false)}
	seen := map[byte]int{}
	for turn := range 9 {
		for id, n := range granted(Deal(all, Room{All: 1, Tenant: 1, Endpoint: 1}, turn)) {
			seen[id] += n
		}
	}
	if len(seen) != 3 || seen[1] != 3 || seen[2] != 3 || seen[3] != 3 {
		t.Errorf("nine turns went to %v", seen)
	}
}

// covers: I12
func TestAbandoned(t *testing.T) {
	for _, s := range States() {
		before := Delivery{State: s, Fence: 2, Failures: 1, NextAt: 5, Status: 500}
		want := before
		if s == Pending || s == Delivering {
			want.State, want.DoneAt, want.Problem = Dead, 7, Disabled
		}
		if got := Abandon(before, 7); got != want {
			t.Errorf("%s became %+v, want %+v", s, got, want)
		}
	}
	if Patience() != 71*time.Hour+42*time.Minute+35*time.Second {
		t.Errorf("an event is tried for %s", Patience())
	}
}
