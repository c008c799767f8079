package evidence

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// walk is a message of which everything is learned that may be learned, at any moment and in any order, while
// workers claim it and open attempts as the store permits.
type walk struct {
	read     map[ident.Receipt]*ReceiptFacts // every receipt that was drawn
	c        *Case
	now      clock.Micros
	closed   int  // how often its key was closed
	together bool // its parts leave without waiting for the first
	silent   bool // a receipt is asked for with the first part alone

	corrections []message.Correction // of its connection
}

func newWalk(t *rapid.T) *walk {
	c := pending()
	c.Parts = rapid.IntRange(1, 3).Draw(t, "parts")
	c.EventBound = rapid.Bool().Draw(t, "event bound")
	c.While = rapid.SampledFrom([][]message.State{nil, {message.Delivered}, {message.Delivered, message.Undelivered, message.Cancelled}}).Draw(t, "while")
	c.ValidUntil = made + second*rapid.SampledFrom([]clock.Micros{100, 500}).Draw(t, "validity")
	w := &walk{c: c, now: made, read: map[ident.Receipt]*ReceiptFacts{}, together: rapid.Bool().Draw(t, "together"), silent: rapid.Bool().Draw(t, "silent")}
	const delivered, undelivered, expired = message.DeliveryDelivered, message.DeliveryUndelivered, message.DeliveryExpired
	w.corrections = rapid.SampledFrom([][]message.Correction{nil, {{From: expired, To: delivered}, {From: undelivered, To: delivered}}, {{From: delivered, To: undelivered}}}).Draw(t, "corrections")
	return w
}

// work lets a worker claim the message, or open an attempt under its claim.
func (w *walk) work(t *rapid.T) {
	switch q, due := w.c.Schedule(w.now); {
	case w.c.State == message.Pending && q == flow && due <= w.now && w.now < w.c.ValidUntil:
		w.c.claim(w.now)
	case w.c.State == message.Sending && w.c.Leased && w.now < w.c.ReadyAt:
		owed := w.c.Owed(w.now, w.together)
		w.paid(t, owed)
		for _, part := range owed[:rapid.IntRange(0, len(owed)).Draw(t, "opened")] {
			w.c.open(part)
			last := &w.c.Attempts[len(w.c.Attempts)-1]
			last.NoReceipt = w.silent && part > 1
		}
		w.onceUnderAFence(t)
	}
}

// onceUnderAFence: a fence opens each part at most once.
func (w *walk) onceUnderAFence(t *rapid.T) {
	type opening struct {
		part  uint16
		fence int64
	}
	seen := map[opening]bool{}
	for _, a := range w.c.Attempts {
		o := opening{a.Part, a.Fence}
		if seen[o] && a.Fence > 0 { // a restore's own have none
			t.Fatalf("part %d was opened twice under fence %d: %+v", a.Part, a.Fence, w.c.Attempts)
		}
		seen[o] = true
	}
}

// attempt draws the last attempt mostly, and one that does not exist rarely.
func (w *walk) attempt(t *rapid.T) uint16 {
	last := int(w.c.LastAttempt())
	return uint16(max(1, last+rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, -1, -2, 1}).Draw(t, "attempt")))
}

// kindsDrawn has what says most about a message more often.
var kindsDrawn = []Kind{
	Outcome, Receipt, Outcome, Receipt, Outcome, Receipt, Outcome, Receipt, Outcome, Receipt,
	LeaseEnded, Returned, ValidityEnded, ReceiptTimeEnded, Cancel, Restored, Requeued, Resolved, Resolved, 0,
}

// evidence draws anything, about attempts that exist mostly.
func (w *walk) evidence(t *rapid.T) Evidence {
	e := Evidence{
		Kind:    rapid.SampledFrom(kindsDrawn).Draw(t, "kind"),
		Attempt: w.attempt(t),
		Part:    uint16(rapid.IntRange(1, w.c.Parts).Draw(t, "part")),
	}
	switch e.Kind {
	case Outcome:
		e.Outcome = rapid.SampledFrom([]message.Outcome{4, 5, 6, 2, 3, 1}).Draw(t, "outcome")
		e.Late = rapid.Bool().Draw(t, "late")
		e.Hold = rapid.SampledFrom([]time.Duration{0, 2 * time.Second}).Draw(t, "hold")
		e.GiveUp = e.Outcome == message.OutcomeNotSent && rapid.IntRange(0, 9).Draw(t, "give up") == 0
		if rapid.Bool().Draw(t, "with code") {
			e.Code = "0x00000000"
		}
		if e.Outcome == message.OutcomeAccepted && rapid.Bool().Draw(t, "with id") {
			e.ExternalID = []byte{byte(e.Attempt), byte(e.Part)}
		}
	case Receipt:
		e.Receipt = w.receipt(t)
	case Resolved:
		w.resolution(t, &e)
	case Restored:
		e.AsOf = rapid.SampledFrom([]clock.Micros{0, made - second, made + 50*second, made + 400*second}).Draw(t, "as of")
	case Returned:
		e.Fence = w.c.Fence - int64(rapid.IntRange(0, 1).Draw(t, "stale"))
	}
	return e
}

func (w *walk) receipt(t *rapid.T) *ReceiptFacts {
	r := report(rapid.SampledFrom([]string{"DELIVRD", "UNDELIV", "EXPIRED", "ENROUTE", "ACCEPTD", "UNKNOWN", "FAILED"}).Draw(t, "status")).Receipt
	r.ID = ident.Receipt{byte(w.c.LastN), byte(w.c.LastN >> 8), 1}
	r.Final = rapid.Bool().Draw(t, "final")
	r.Repeated = rapid.Bool().Draw(t, "repeated")
	r.Corrections = w.corrections
	w.read[r.ID] = r
	return r
}

// resolution draws what a person may make of a receipt or of an answer, sensible or not.
func (w *walk) resolution(t *rapid.T, e *Evidence) {
	e.Person, e.Reason = "operations", "asked the carrier"
	e.Action = rapid.SampledFrom([]exception.Action{exception.Attach, exception.Attach, exception.Dismiss}).Draw(t, "action")
	if rapid.Bool().Draw(t, "about a receipt") {
		e.Receipt = w.receipt(t)
		e.State = rapid.SampledFrom([]string{"", "", "delivered", "undelivered", "en_route"}).Draw(t, "stands for")
		return
	}
	e.Outcome = rapid.SampledFrom([]message.Outcome{2, 3, 4, 6}).Draw(t, "outcome")
	e.Code = "0x00000000"
}

// learn applies one piece of evidence and holds what it did against the promises.
func (w *walk) learn(t *rapid.T) {
	w.c.CloseKey, w.c.OpenKey, w.c.Told = false, false, nil // as the store reads a case
	for i := range w.c.Attempts {
		w.c.Attempts[i].Changed, w.c.Attempts[i].New = false, false
	}
	e, before := w.evidence(t), clone(w.c)
	err := w.c.Apply(e, w.now)
	if err != nil {
		if !reflect.DeepEqual(w.c, before) {
			t.Fatalf("refused with %v, and yet from %+v\nto %+v", err, before, w.c)
		}
		known := []error{ErrState, ErrNoAttempt, ErrHandedOver, ErrNoMeaning, ErrHasMeaning, ErrStillUnknown}
		if e.Kind != 0 && !slices.ContainsFunc(known, func(k error) bool { return errors.Is(err, k) }) {
			t.Fatalf("refused with %v", err)
		}
		return
	}
	w.history(t, e, before)
	w.attempts(t, e, before)
	if e.Kind == Requeued && w.c.State == message.Unknown {
		t.Fatalf("a person's word was taken and changed nothing: %+v", w.c.Attempts)
	}
	w.finality(t, e, before)
	w.truth(t)
	w.money(t)
	w.rebuild(t)
}

// rebuild: computed again from the history with nothing read otherwise, each part is what it is.
func (w *walk) rebuild(t *rapid.T) {
	var past []Past
	for _, e := range w.c.Events {
		past = append(past, Past{e, w.read[e.Receipt]})
	}
	for _, a := range w.c.Attempts {
		again := clone(w.c)
		if err := again.Apply(Evidence{Kind: Rebuilt, Attempt: a.Attempt, Part: a.Part, History: past}, w.now); err != nil {
			t.Fatal(err)
		}
		if again.LastN != w.c.LastN || !reflect.DeepEqual(facts(again), facts(w.c)) || len(again.Exceptions) != len(w.c.Exceptions) {
			t.Fatalf("a rebuild of attempt %d, part %d made %+v", a.Attempt, a.Part, again.Events[len(again.Events)-1])
		}
	}
}

// history: numbers without a gap, each step in the table, and nothing moves without an event.
func (w *walk) history(t *rapid.T, e Evidence, before *Case) {
	if !slices.EqualFunc(w.c.Events[:len(before.Events)], before.Events, func(a, b Event) bool { return reflect.DeepEqual(a, b) }) {
		t.Fatal("the history was changed")
	}
	state, n, allowed := before.State, before.LastN, message.Allowed
	if e.Kind == Resolved || e.Kind == Rebuilt || w.byRule(before) {
		allowed = message.Corrects
	}
	for _, ev := range w.c.Events[len(before.Events):] {
		n++
		if ev.N != n || ev.At != w.now || ev.From != state || ev.To != ev.From && !allowed(ev.From, ev.To) {
			t.Fatalf("event %+v after number %d in %s", ev, n-1, state)
		}
		state = ev.To
	}
	if n != w.c.LastN || len(w.c.Events) > len(before.Events)+1 {
		t.Fatalf("the last event is %d, and %d are new", w.c.LastN, len(w.c.Events)-len(before.Events))
	}
	if state != w.c.State && e.Kind != Returned {
		t.Fatalf("it is %s, and its events end at %s", w.c.State, state)
	}
	if (w.c.Since == w.now) != (w.c.State != before.State || before.Since == w.now) {
		t.Fatalf("%s since %d, now %d, before %s since %d", w.c.State, w.c.Since, w.now, before.State, before.Since)
	}
	for _, x := range w.c.Exceptions[len(before.Exceptions):] {
		if last := w.c.Events[len(w.c.Events)-1].Kind; last != EventConflict && last != EventRebuilt && (last != EventClosed || x.Kind != exception.Missing) || e.Kind == Receipt && e.Receipt.Repeated || x.At != w.now {
			t.Fatalf("an exception %+v with an event %q by %+v", x, last, e)
		}
	}
	refused := func(x exception.Exception) bool { return strings.HasSuffix(x.Detail, "which cannot be") } // the attempt moved, the message did not
	if len(w.c.Exceptions) > len(before.Exceptions) && e.Kind != ReceiptTimeEnded && e.Kind != Rebuilt && !slices.ContainsFunc(w.c.Exceptions, refused) && !reflect.DeepEqual(facts(w.c), facts(before)) {
		t.Fatalf("a conflict moved the case from %+v\nto %+v", before, w.c)
	}
}

// attempts: what is definite or final stays, and what changed is marked.
func (w *walk) attempts(t *rapid.T, e Evidence, before *Case) {
	for _, a := range w.c.Attempts[len(before.Attempts):] {
		if e.Kind != Restored || !a.New || a.Outcome != message.OutcomeUnknown || a.Code != CodeRestored {
			t.Fatalf("evidence of kind %d made the attempt %+v", e.Kind, a)
		}
	}
	for i, b := range before.Attempts {
		a := w.c.Attempts[i]
		switch {
		case e.Kind == Resolved:
			w.corrected(t, e, a, b)
		case b.Outcome.Definite() && a.Outcome != b.Outcome, a.Outcome == message.OutcomeOpen && b.Outcome != message.OutcomeOpen:
			t.Fatalf("outcome %s became %s", b.Outcome, a.Outcome)
		case b.Delivery.Final() && a.Delivery != b.Delivery && !(w.byRule(before) && e.corrects(a, b) && slices.Contains(w.corrections, message.Correction{From: b.Delivery, To: a.Delivery})):
			t.Fatalf("final %s became %s", b.Delivery, a.Delivery)
		case b.ExternalID != nil && string(a.ExternalID) != string(b.ExternalID) && (b.Code != "" || a.Code == ""):
			t.Fatalf("message id %q became %q", b.ExternalID, a.ExternalID)
		case a.Delivery.Final() && !b.Delivery.Final() && !e.Receipt.Final:
			t.Fatalf("an intermediate notification made it %s", a.Delivery)
		case a.Delivery != message.DeliveryNone && a.Outcome != message.OutcomeAccepted:
			t.Fatalf("%s, reported %s", a.Outcome, a.Delivery)
		}
		b.Changed = a.Changed
		if !reflect.DeepEqual(a, b) && !a.Changed {
			t.Fatalf("a change from %+v to %+v is not marked", b, a)
		}
	}
}

// byRule reports whether a correction was made that the connection documents.
func (w *walk) byRule(before *Case) bool {
	n := len(w.c.Events)
	return n > len(before.Events) && w.c.Events[n-1].Kind == EventCorrected
}

// corrects reports whether the evidence is a receipt of the attempt that may do so: one that came for the first time.
func (e Evidence) corrects(a, b Attempt) bool {
	return e.Kind == Receipt && e.Receipt.Final && !e.Receipt.Repeated && e.Attempt == a.Attempt && e.Part == a.Part && a.Outcome == b.Outcome
}

// corrected: a person changes what the evidence at hand says, and that only.
func (w *walk) corrected(t *rapid.T, e Evidence, a, b Attempt) {
	named := e.Attempt == a.Attempt && e.Part == a.Part && e.Action == exception.Attach
	switch {
	case !named && (a.Outcome != b.Outcome || a.Delivery != b.Delivery):
		t.Fatalf("a resolution of another attempt, or none, changed %+v to %+v", b, a)
	case named && e.Receipt != nil && (a.Outcome != message.OutcomeAccepted || b.Delivery.Final() && !a.Delivery.Final()):
		t.Fatalf("a receipt that stands made %+v of %+v", a, b)
	case named && e.Receipt == nil && (a.Outcome != e.Outcome || a.Delivery != b.Delivery):
		t.Fatalf("an answer that stands made %+v of %+v", a, b)
	}
}

// finality: once, when nothing is owed; the key is closed once, when the message is out of its window. A correction
// may undo both.
func (w *walk) finality(t *rapid.T, e Evidence, before *Case) {
	c := w.c
	if c.OpenKey {
		w.closed--
	}
	if e.Kind != Resolved && !w.byRule(before) && before.Final && !c.Final || c.OpenKey && (w.closed != 0 || c.Final && !slices.Contains(c.While, c.State)) || c.Final && (!message.CanBeFinal(c.State) && c.State != message.EnRoute || c.AttemptOpen() && c.State != message.Rejected) {
		t.Fatalf("final %v in %s, open %v", c.Final, c.State, c.AttemptOpen())
	}
	if n := len(c.Events); n > len(before.Events) && !w.noted(before) && !c.Final && !c.owed(w.now) {
		t.Fatalf("%s is not final, and nothing is owed", c.State)
	}
	if c.CloseKey {
		w.closed++
		if w.closed > 1 || !c.EventBound || !c.Final || slices.Contains(c.While, c.State) {
			t.Fatalf("closed %d times: bound %v, final %v, %s of %v", w.closed, c.EventBound, c.Final, c.State, c.While)
		}
	}
	if q, due := c.Schedule(w.now); (q == QueueNone) != c.Final || q >= FirstFlow && (c.State != message.Pending || due < w.now && c.Parts == 1 || due > w.now+30*second) {
		t.Fatalf("%s, final %v, waits in queue %d until %d", c.State, c.Final, q, due)
	}
}

// noted reports whether the last event moves nothing, so that it leaves even the clock's moves: a receipt that says
// nothing new, a conflict, an answer to what a receipt has settled already.
func (w *walk) noted(before *Case) bool {
	switch last := w.c.Events[len(w.c.Events)-1]; last.Kind {
	case EventConflict, EventRepeated, EventOvertaken:
		return true
	case EventResolved:
		return last.Detail["action"] == string(exception.Dismiss)
	case EventOutcome, EventLate:
		a := before.attempt(last.Attempt, last.Part)
		return a.Outcome == message.OutcomeAccepted
	}
	return false
}

// truth: no false no and no false yes, and no part is due to be sent of which an attempt may have been taken.
func (w *walk) truth(t *rapid.T) {
	taken, perhaps := 0, 0
	for i := range w.c.Attempts {
		switch a := &w.c.Attempts[i]; {
		case a.Outcome == message.OutcomeAccepted:
			taken++
		case a.mayBeTaken():
			perhaps++
		}
	}
	switch w.c.State {
	case message.Accepted, message.EnRoute, message.Delivered, message.Undelivered:
		if taken == 0 {
			t.Fatalf("%s, though no provider has it: %+v", w.c.State, w.c.Attempts)
		}
	case message.Rejected, message.Cancelled:
		if taken+perhaps > 0 {
			t.Fatalf("%s, though a provider has it or may: %+v", w.c.State, w.c.Attempts)
		}
	}
	for _, part := range w.c.Owed(w.now, w.together) {
		for i := range w.c.Attempts {
			if a := &w.c.Attempts[i]; a.Part == part && a.mayBeTaken() {
				t.Fatalf("part %d is to be sent, though a provider has it or may: %+v", part, w.c.Attempts)
			}
		}
	}
	if q, _ := w.c.Schedule(w.now); q >= FirstFlow && (w.c.AttemptOpen() || taken+perhaps > 0 && w.c.Parts == 1) {
		t.Fatalf("it is to be sent, though a provider has it or may: %+v", w.c.Attempts)
	}
}

// step lets time pass, and something be done or learned.
func (w *walk) step(t *rapid.T) {
	w.now += second * rapid.SampledFrom([]clock.Micros{0, 0, 0, 1, 1, 1, 1, 2, 3, 5, 11, 300}).Draw(t, "seconds")
	if rapid.Bool().Draw(t, "work") {
		w.work(t) // claims
		w.work(t) // opens
		return
	}
	w.learn(t)
}

// covers: D5, R6, R10, I5, I7, I8, I9
func TestRandomWalks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 10 { // walks
			w := newWalk(t)
			w.work(t)
			for range rapid.IntRange(10, 60).Draw(t, "steps") {
				w.step(t)
			}
		}
	})
}
