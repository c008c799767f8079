package evidence

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
)

// numbered gives a receipt an id of its own.
func numbered(n byte, e Evidence) Evidence {
	r := *e.Receipt
	r.ID = ident.Receipt{n}
	e.Receipt = &r
	return e
}

// reread is the rebuild of the first part after one of its receipts is read otherwise.
func reread(c *Case, read map[ident.Receipt]*ReceiptFacts, cause byte) Evidence {
	e := Evidence{Kind: Rebuilt, Attempt: 1, Part: 1, Person: "operations", Reason: "the mapping was mended", Receipt: read[ident.Receipt{cause}]}
	for _, ev := range c.Events {
		e.History = append(e.History, Past{ev, read[ev.Receipt]})
	}
	return e
}

// as is a receipt as it is read now.
func as(n byte, status, state string) *ReceiptFacts {
	d, _ := message.ParseDelivery(state)
	return &ReceiptFacts{ID: ident.Receipt{n}, ExternalID: []byte("A1B2"), Status: status, State: state, ErrorCode: "002", Final: d.Final(), Parser: "test/2"}
}

func all(facts ...*ReceiptFacts) map[ident.Receipt]*ReceiptFacts {
	m := map[ident.Receipt]*ReceiptFacts{}
	for _, f := range facts {
		m[f.ID] = f
	}
	return m
}

// A mended mapping changes what is reported, in the order in which the receipts came; the event says what was before.
//
// covers: R6, R7, R9, I8
func TestARebuildFollowsTheReadings(t *testing.T) {
	for name, c := range map[string]struct {
		came  []Evidence
		now   map[ident.Receipt]*ReceiptFacts
		state message.State
		final bool
		was   string
	}{
		"a status that is documented now":  {[]Evidence{numbered(1, report("FAILED"))}, all(as(1, "FAILED", "undelivered")), message.Undelivered, true, "none"},
		"one that means less than thought": {[]Evidence{numbered(1, report("DELIVRD"))}, all(as(1, "DELIVRD", "accepted")), message.Accepted, false, "delivered"},
		"one that means nothing":           {[]Evidence{numbered(1, report("DELIVRD"))}, all(as(1, "DELIVRD", "")), message.Accepted, false, "delivered"},
		"the second one was right": {[]Evidence{numbered(1, report("DELIVRD")), numbered(2, report("UNDELIV"))},
			all(as(1, "DELIVRD", "accepted"), as(2, "UNDELIV", "undelivered")), message.Undelivered, true, "delivered"},
		"both mean the same": {[]Evidence{numbered(1, report("UNDELIV")), numbered(2, report("DELIVRD"))},
			all(as(1, "UNDELIV", "delivered"), as(2, "DELIVRD", "delivered")), message.Delivered, true, "undelivered"},
		"its receipt is gone": {[]Evidence{numbered(1, report("DELIVRD"))}, all(), message.Accepted, false, "delivered"},
	} {
		t.Run(name, func(t *testing.T) {
			k := sent(message.OutcomeAccepted).apply(t, c.came...)
			n := len(k.Events)
			k.apply(t, reread(k, c.now, 1))
			wantState(t, k, c.state, c.final)
			if len(k.Events) != n+1 {
				t.Fatalf("%d events were written", len(k.Events)-n)
			}
			ev := k.Events[n]
			if ev.Kind != EventRebuilt || ev.Detail["was"] != c.was || ev.Detail["delivery"] != k.Attempts[0].Delivery.String() || ev.Detail["by"] != "operations" {
				t.Errorf("the event is %+v", ev)
			}
			k.apply(t, reread(k, c.now, 1))
			if len(k.Events) != n+1 {
				t.Error("a second rebuild wrote another event")
			}
		})
	}
}

// What a person has said stands, whatever the receipts are read as.
//
// covers: R6, R9
func TestARebuildKeepsAPersonsWord(t *testing.T) {
	c := sent(message.OutcomeAccepted).apply(t, numbered(1, report("DELIVRD")), numbered(2, report("UNDELIV")), attach(numbered(2, report("UNDELIV"))))
	before := facts(c)
	c.apply(t, reread(c, all(as(1, "DELIVRD", "accepted"), as(2, "UNDELIV", "expired")), 1))
	if after := facts(c); !reflect.DeepEqual(after, before) {
		t.Errorf("a rebuild changed the case\nfrom %+v\n  to %+v", before, after)
	}
}

// A receipt that belongs elsewhere, now that its id is read, leaves nothing behind: what it had settled is open again.
//
// covers: R4, R9, I7
func TestAReceiptMovesAway(t *testing.T) {
	c := sent(message.OutcomeUnknown).apply(t, numbered(1, report("DELIVRD")))
	wantState(t, c, message.Delivered, true)
	e := reread(c, all(as(1, "DELIVRD", "delivered")), 1)
	e.Moved = true
	c.apply(t, e)
	wantState(t, c, message.Unknown, false)
	if a := c.Attempts[0]; a.Outcome != message.OutcomeUnknown || a.ExternalID != nil || a.Delivery != message.DeliveryNone || a.StatusRaw != "" {
		t.Errorf("the attempt is %+v", a)
	}
	// Another rebuild leaves it out as well; the answer, and its own receipt, come after all.
	before := facts(c)
	c.apply(t, reread(c, all(as(1, "DELIVRD", "delivered")), 1))
	if after := facts(c); !reflect.DeepEqual(after, before) {
		t.Errorf("it came back\nfrom %+v\n  to %+v", before, after)
	}
	c.apply(t, answer(message.OutcomeAccepted), numbered(3, report("UNDELIV")))
	wantState(t, c, message.Undelivered, true)
	answered := sent(message.OutcomeAccepted).apply(t, numbered(1, report("DELIVRD")))
	e = reread(answered, all(as(1, "DELIVRD", "delivered")), 1)
	e.Moved = true
	answered.apply(t, e)
	wantState(t, answered, message.Accepted, false)
}

// A receipt for an attempt that was refused is set aside still, and so is one whose attempt was taken after all by the
// word of a person: it was looked at then.
//
// covers: R6, R9, I7
func TestARebuildSetsAsideWhatWas(t *testing.T) {
	for _, c := range []*Case{
		sent(message.OutcomeRejected).apply(t, numbered(1, report("DELIVRD"))),
		sent(message.OutcomeThrottled).apply(t, numbered(1, report("DELIVRD")), answer(message.OutcomeAccepted), attach(answer(message.OutcomeAccepted))),
	} {
		before := facts(c)
		c.apply(t, reread(c, all(as(1, "DELIVRD", "delivered")), 1))
		if after := facts(c); !reflect.DeepEqual(after, before) {
			t.Errorf("a rebuild changed the case\nfrom %+v\n  to %+v", before, after)
		}
	}
}

// An id that the receipt of a lost answer had brought is mended with it.
//
// covers: R4, R15
func TestARebuildMendsTheMessageID(t *testing.T) {
	c := sending(1).apply(t, Evidence{Kind: Outcome, Attempt: 1, Part: 1, Outcome: message.OutcomeUnknown}, numbered(1, report("DELIVRD")))
	e := reread(c, all(as(1, "DELIVRD", "delivered")), 1)
	e.FormerID, e.Receipt.ExternalID = []byte("A1B2"), []byte("A1B2C3")
	c.apply(t, e)
	if a := c.Attempts[0]; string(a.ExternalID) != "A1B2C3" {
		t.Errorf("the id is %q", a.ExternalID)
	}
	wantState(t, c, message.Delivered, true)
}

// A receipt that contradicts now, and did not before, is told of.
//
// covers: R6
func TestARebuildTellsOfNewConflicts(t *testing.T) {
	c := sent(message.OutcomeAccepted).apply(t, numbered(1, report("ENROUTE")), numbered(2, report("DELIVRD")))
	c.apply(t, reread(c, all(as(1, "ENROUTE", "undelivered"), as(2, "DELIVRD", "delivered")), 1))
	wantState(t, c, message.Undelivered, true)
	wantExceptions(t, c, exception.Conflicting)
	if x := c.Exceptions[0]; x.Receipt != (ident.Receipt{2}) || c.Effects[ident.Receipt{2}] != message.Conflicting || c.Effects[ident.Receipt{1}] != message.Applied {
		t.Errorf("the exception is %+v, the effects %v", x, c.Effects)
	}
	stranger := reread(c, nil, 1)
	stranger.Attempt = 7
	refuses(t, c, stranger, made, ErrNoAttempt)
}

// Whatever the receipts are read as, a rebuild is one step: a second one finds nothing to do, and reading them as they
// were at first leads back.
//
// covers: R9, I8
func TestRebuildsAreSteady(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWalk(t)
		w.work(t)
		for range rapid.IntRange(5, 40).Draw(t, "steps") {
			w.step(t)
		}
		first := map[ident.Receipt]*ReceiptFacts{}
		for _, id := range slices.SortedFunc(maps.Keys(w.read), func(a, b ident.Receipt) int { return bytes.Compare(a[:], b[:]) }) {
			r := w.read[id]
			first[id] = r
			other := *r
			other.State = rapid.SampledFrom([]string{r.State, r.State, "delivered", "undelivered", "accepted", ""}).Draw(t, "read now")
			w.read[id] = &other
		}
		for range 2 {
			w.c.CloseKey, w.c.OpenKey = false, false
			w.apply(t)
			w.rebuild(t)
			w.read = first
		}
	})
}

// apply rebuilds every part.
func (w *walk) apply(t *rapid.T) {
	for _, a := range w.c.Attempts {
		e := Evidence{Kind: Rebuilt, Attempt: a.Attempt, Part: a.Part}
		for _, ev := range w.c.Events {
			e.History = append(e.History, Past{ev, w.read[ev.Receipt]})
		}
		before := clone(w.c)
		if err := w.c.Apply(e, w.now); err != nil {
			t.Fatal(err)
		}
		w.history(t, e, before)
		w.truth(t)
	}
}
