package evidence

import (
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
)

// covers: D5, I6
func TestScheduleOfEachState(t *testing.T) {
	now := made + 50*second
	lease := claimed().ReadyAt
	failed := pending()
	failed.State, failed.Final = message.Failed, true
	for name, c := range map[string]struct {
		c  *Case
		q  Queue
		at clock.Micros
	}{
		"pending":   {pending(), flow, now},
		"claimed":   {claimed(), QueueLease, lease},
		"sending":   {sending(1), QueueLease, lease},
		"accepted":  {sent(message.OutcomeAccepted), QueueFinality, receipts},
		"unknown":   {sent(message.OutcomeUnknown), QueueFinality, receipts},
		"en route":  {sent(message.OutcomeAccepted).apply(t, report("ENROUTE")), QueueFinality, receipts},
		"delivered": {sent(message.OutcomeAccepted).apply(t, report("DELIVRD")), QueueNone, 0},
		"rejected":  {sent(message.OutcomeRejected), QueueNone, 0},
		"failed":    {failed, QueueNone, 0},
		"cancelled": {pending().apply(t, Evidence{Kind: Cancel}), QueueNone, 0},
	} {
		if q, at := c.c.Schedule(now); q != c.q || at != c.at {
			t.Errorf("%s: queue %d until %d, want %d until %d", name, q, at, c.q, c.at)
		}
	}
}

// throttle lets the next attempt of the message end without having been sent, and returns how long it waits.
func throttle(t *testing.T, c *Case, o message.Outcome, now clock.Micros) time.Duration {
	t.Helper()
	c.claim(now)
	c.open(1)
	e := answer(o)
	e.Attempt = c.LastAttempt()
	if err := c.Apply(e, now); err != nil {
		t.Fatal(err)
	}
	q, at := c.Schedule(now)
	if q != flow {
		t.Fatalf("after %s it is %s in queue %d", o, c.State, q)
	}
	return at.Sub(now)
}

// The provider asked for patience: each pause is twice the one before, up to half a minute.
//
// covers: I6
func TestPausesGrowAndAreBounded(t *testing.T) {
	for o, first := range map[message.Outcome]time.Duration{message.OutcomeThrottled: time.Second, message.OutcomeNotSent: 250 * time.Millisecond} {
		c, want := pending(), first
		c.ValidUntil, c.ReceiptUntil = at(24*time.Hour), at(48*time.Hour)
		for i := range 80 { // far beyond the bits of a shift
			if got := throttle(t, c, o, at(time.Duration(i)*time.Minute)); got != want {
				t.Fatalf("%s number %d: a pause of %s, want %s", o, i+1, got, want)
			}
			want = min(2*want, 30*time.Second)
		}
	}
}

// Each kind of failed attempt has its own count.
func TestPausesAreCountedByKind(t *testing.T) {
	c := pending()
	for i, step := range []struct {
		o    message.Outcome
		want time.Duration
	}{
		{message.OutcomeThrottled, time.Second},
		{message.OutcomeThrottled, 2 * time.Second},
		{message.OutcomeNotSent, 250 * time.Millisecond},
		{message.OutcomeThrottled, 4 * time.Second},
	} {
		if got := throttle(t, c, step.o, made+10*second*clock.Micros(i)); got != step.want {
			t.Errorf("attempt %d: a pause of %s, want %s", i+1, got, step.want)
		}
	}
}

// Evidence that comes during a pause does not end it, even if the case was read anew in between.
func TestPauseOutlastsOtherEvidence(t *testing.T) {
	c := clone(sent(message.OutcomeThrottled))
	now := made + second + second/4
	if err := c.Apply(report("DELIVRD"), now); err != nil {
		t.Fatal(err)
	}
	if q, at := c.Schedule(now); q != flow || at != made+2*second {
		t.Errorf("it waits in queue %d until %d, want until %d", q, at, made+2*second)
	}
	if _, at := c.Schedule(made + 5*second); at != made+5*second {
		t.Errorf("after its pause it is due at %d", at)
	}
}

// A message is final only when nothing is owed for any of its parts.
//
// covers: D5
func TestFinality(t *testing.T) {
	parts := func(all ...Attempt) *Case {
		c := sending(len(all))
		for i, a := range all {
			c.Attempts[i].Outcome, c.Attempts[i].Delivery = a.Outcome, a.Delivery
		}
		return c
	}
	const open, accepted, rejected, unknown = message.OutcomeOpen, message.OutcomeAccepted, message.OutcomeRejected, message.OutcomeUnknown
	delivered := Attempt{Outcome: accepted, Delivery: message.DeliveryDelivered}
	for name, c := range map[string]struct {
		c            *Case
		state        message.State
		before, then bool // owed before, and once no receipt is awaited
	}{
		"delivered":               {parts(delivered), message.Delivered, false, false},
		"all parts":               {parts(delivered, delivered), message.Delivered, false, false},
		"one part still to come":  {parts(delivered, Attempt{Outcome: accepted}), message.Accepted, true, false},
		"one part under way":      {parts(delivered, Attempt{Outcome: accepted, Delivery: message.DeliveryEnRoute}), message.EnRoute, true, false},
		"one part without answer": {parts(delivered, Attempt{Outcome: unknown}), message.Unknown, true, false},
		"one part open":           {parts(delivered, Attempt{Outcome: open}), message.Sending, true, true},
		"one part bad":            {parts(Attempt{Outcome: accepted, Delivery: message.DeliveryUndelivered}, Attempt{Outcome: accepted}), message.Undelivered, true, false},
		"one part rejected":       {parts(delivered, Attempt{Outcome: rejected}), message.Rejected, false, false},
		"rejected, one to come":   {parts(Attempt{Outcome: accepted}, Attempt{Outcome: rejected}), message.Rejected, true, false},
		"rejected, one open":      {parts(Attempt{Outcome: open}, Attempt{Outcome: rejected}), message.Rejected, true, true},
		"pending":                 {pending(), message.Pending, true, true},
		"held":                    {pending(), message.Held, true, true},
		"retry due":               {pending(), message.RetryDue, true, true},
		"declined":                {pending(), message.Declined, false, false},
		"replaced":                {pending(), message.Replaced, false, false},
		"failed":                  {pending(), message.Failed, false, false},
		"cancelled, one to come":  {parts(Attempt{Outcome: accepted}), message.Cancelled, false, false},
		"expired before any":      {pending(), message.Expired, false, false},
		"expired, one to come":    {parts(Attempt{Outcome: accepted}), message.Expired, true, false},
	} {
		c.c.State = c.state
		if got := c.c.owed(receipts - 1); got != c.before {
			t.Errorf("%s: owed %v before its end", name, got)
		}
		if got := c.c.owed(receipts); got != c.then {
			t.Errorf("%s: owed %v after it", name, got)
		}
	}
}

// The key of a window that is bound to the event ends once, when the message ends outside of the states that the
// window lists.
//
// covers: D6
func TestCloseKey(t *testing.T) {
	closed := Evidence{Kind: ReceiptTimeEnded}
	accepted := []message.State{message.Accepted}
	for name, c := range map[string]struct {
		while []message.State
		bound bool
		c     *Case
		then  []Evidence
		want  []bool // after each piece, of a case read anew
	}{
		"delivered, listed":       {[]message.State{message.Delivered}, true, sent(message.OutcomeAccepted), []Evidence{report("DELIVRD")}, []bool{false}},
		"undelivered":             {[]message.State{message.Delivered}, true, sent(message.OutcomeAccepted), []Evidence{report("UNDELIV")}, []bool{true}},
		"a duration":              {nil, false, sent(message.OutcomeAccepted), []Evidence{report("UNDELIV")}, []bool{false}},
		"not final yet":           {nil, true, sent(message.OutcomeAccepted), []Evidence{report("ENROUTE")}, []bool{false}},
		"cancelled":               {nil, true, pending(), []Evidence{{Kind: Cancel}}, []bool{true}},
		"cancelled, listed":       {[]message.State{message.Cancelled}, true, pending(), []Evidence{{Kind: Cancel}}, []bool{false}},
		"once, then more history": {nil, true, sent(message.OutcomeAccepted), []Evidence{report("UNDELIV"), report("DELIVRD"), report("UNDELIV")}, []bool{true, false, false}},
		"once, then another end":  {nil, true, sent(message.OutcomeAccepted), []Evidence{closed, report("UNDELIV")}, []bool{true, false}},
		"left after the end":      {accepted, true, sent(message.OutcomeAccepted), []Evidence{closed, report("UNDELIV"), repeated(report("UNDELIV"))}, []bool{false, true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			c.c.While, c.c.EventBound = c.while, c.bound
			now := receipts - 1
			for i, e := range c.then {
				c.c.CloseKey = false
				if e.Kind == ReceiptTimeEnded {
					now = receipts
				}
				if err := c.c.Apply(e, now); err != nil {
					t.Fatal(err)
				}
				if c.c.CloseKey != c.want[i] {
					t.Errorf("evidence %d: the key closes: %v", i+1, c.c.CloseKey)
				}
			}
		})
	}
}

// What follows in the same transaction does not take back that the key ends.
//
// covers: D6
func TestCloseKeyIsNotTakenBack(t *testing.T) {
	c := sent(message.OutcomeAccepted)
	for _, e := range []Evidence{{Kind: ReceiptTimeEnded}, report("UNDELIV"), report("DELIVRD")} {
		if err := c.Apply(e, receipts); err != nil {
			t.Fatal(err)
		}
		if !c.CloseKey {
			t.Errorf("it is %s, and its key does not end", c.State)
		}
	}
}
