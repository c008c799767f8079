package evidence

import (
	"reflect"
	"testing"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
)

// attach is a person's word that a receipt belongs to the first attempt, and stands.
func attach(e Evidence) Evidence {
	e.Kind, e.Action, e.Exception = Resolved, exception.Attach, ident.Exception{7}
	e.Person, e.Reason = "operations", "the carrier confirmed it"
	return e
}

func dismiss(e Evidence) Evidence {
	e = attach(e)
	e.Action = exception.Dismiss
	return e
}

// A person may move what is final; the event names who, why and by which evidence.
//
// covers: R6, R9, I8
func TestAPersonLetsAReceiptStand(t *testing.T) {
	for name, c := range map[string]struct {
		c     *Case
		e     Evidence
		state message.State
		final bool
	}{
		"against a final one":      {sent(message.OutcomeAccepted).apply(t, report("DELIVRD"), report("UNDELIV")), report("UNDELIV"), message.Undelivered, true},
		"the other way round":      {sent(message.OutcomeAccepted).apply(t, report("UNDELIV"), report("DELIVRD")), report("DELIVRD"), message.Delivered, true},
		"for a lost answer":        {sent(message.OutcomeUnknown), report("DELIVRD"), message.Delivered, true},
		"under way, lost answer":   {sent(message.OutcomeUnknown), report("ENROUTE"), message.EnRoute, false},
		"against a refusal":        {sent(message.OutcomeRejected).apply(t, report("DELIVRD")), report("DELIVRD"), message.Delivered, true},
		"against a throttle":       {sent(message.OutcomeThrottled).apply(t, report("UNDELIV")), report("UNDELIV"), message.Undelivered, true},
		"intermediate, after all":  {sent(message.OutcomeAccepted).apply(t, report("DELIVRD")), report("ENROUTE"), message.Delivered, true},
		"while it is open":         {sending(1), report("DELIVRD"), message.Delivered, true},
		"a final word, not marked": {sent(message.OutcomeAccepted), intermediate(report("DELIVRD")), message.EnRoute, false},
	} {
		t.Run(name, func(t *testing.T) {
			exceptions := len(c.c.Exceptions)
			c.c.apply(t, attach(c.e))
			wantState(t, c.c, c.state, c.final)
			a, ev := c.c.Attempts[0], c.c.Events[len(c.c.Events)-1]
			if a.Outcome != message.OutcomeAccepted || !a.Changed || string(a.ExternalID) != "A1B2" {
				t.Errorf("the attempt is %+v", a)
			}
			if ev.Kind != EventResolved || ev.Receipt != c.e.Receipt.ID || ev.Detail["by"] != "operations" || ev.Detail["reason"] == "" ||
				ev.Detail["action"] != "attach" || ev.Detail["exception"] != (ident.Exception{7}).String() || ev.Detail["state"] == "" {
				t.Errorf("the event is %+v", ev)
			}
			if len(c.c.Exceptions) != exceptions {
				t.Errorf("a resolution made exceptions: %q", excepted(c.c))
			}
		})
	}
}

// A status that nobody documents stands for what the person says, and for nothing if the person says nothing.
//
// covers: R6, R7
func TestAPersonSaysWhatAStatusStandsFor(t *testing.T) {
	c := sent(message.OutcomeAccepted)
	refuses(t, c, attach(report("FAILED")), made+2*second, ErrNoMeaning)
	e := attach(report("FAILED"))
	e.State = "undelivered"
	c.apply(t, e)
	wantState(t, c, message.Undelivered, true)
	if a := c.Attempts[0]; a.StatusRaw != "FAILED" || c.Events[1].Detail["status"] != "FAILED" || c.Events[1].Detail["state"] != "undelivered" {
		t.Errorf("kept as %+v, %+v", a, c.Events[1])
	}
	e.State = "gone"
	refuses(t, c, e, made+3*second, ErrNoMeaning)
}

// What evidence says itself, a person lets stand or not, and says nothing else in its place: the history would tell of
// a state that the message never took.
//
// covers: R6
func TestAPersonPutsNoOtherWordsInItsPlace(t *testing.T) {
	c := sent(message.OutcomeAccepted).apply(t, report("DELIVRD"), report("UNDELIV"))
	for _, e := range []Evidence{report("UNDELIV"), intermediate(report("UNDELIV")), {Attempt: 1, Part: 1, Outcome: message.OutcomeRejected}} {
		for _, said := range []string{"en_route", "undelivered"} {
			e = attach(e)
			e.State = said
			refuses(t, c, e, made+2*second, ErrHasMeaning)
		}
	}
	wantState(t, c, message.Delivered, true)
}

// A person's word counts for a part for which no receipt was asked for, whenever it comes; what arrives by itself does
// not, and an intermediate report says less than the part's that speaks for all.
//
// covers: R6, R14, I7
func TestAPersonsWordCountsForASilentPart(t *testing.T) {
	silent := func(all ...Evidence) *Case {
		c := sending(3)
		c.Attempts[1].NoReceipt, c.Attempts[2].NoReceipt = true, true
		return c.apply(t, accepted(1), accepted(2), accepted(3)).apply(t, all...)
	}
	word := func(status string) Evidence { return attach(about(2, report(status))) }
	for name, c := range map[string]struct {
		c     *Case
		state message.State
		final bool
	}{
		"by itself":              {silent(about(2, report("UNDELIV")), about(1, report("DELIVRD"))), message.Delivered, true},
		"undelivered":            {silent(word("UNDELIV")), message.Undelivered, false},
		"undelivered, then came": {silent(word("UNDELIV"), about(1, report("DELIVRD"))), message.Undelivered, true},
		"after all was there":    {silent(about(1, report("DELIVRD")), word("UNDELIV")), message.Undelivered, true},
		"after it came itself":   {silent(about(2, report("UNDELIV")), about(1, report("DELIVRD")), word("UNDELIV")), message.Undelivered, true},
		"expired":                {silent(about(1, report("DELIVRD")), word("EXPIRED")), message.Expired, true},
		"delivered":              {silent(about(1, report("DELIVRD")), word("DELIVRD")), message.Delivered, true},
		"another word":           {silent(about(1, report("DELIVRD")), word("UNDELIV"), word("DELIVRD")), message.Delivered, true},
		"under way":              {silent(word("ENROUTE"), about(1, report("DELIVRD"))), message.Delivered, true},
	} {
		wantState(t, c.c, c.state, c.final)
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// What a person dismisses moves nothing, and is in the history.
//
// covers: R6
func TestAPersonDismisses(t *testing.T) {
	for _, c := range []*Case{
		sent(message.OutcomeAccepted).apply(t, report("DELIVRD"), report("UNDELIV")), sent(message.OutcomeUnknown), pending(),
	} {
		before, n := facts(c), len(c.Events)
		c.apply(t, dismiss(report("UNDELIV")))
		if after := facts(c); !reflect.DeepEqual(after, before) {
			t.Errorf("dismissing changed the case\nfrom %+v\n  to %+v", before, after)
		}
		if ev := c.Events[n]; ev.Kind != EventResolved || ev.Detail["action"] != "dismiss" || ev.From != ev.To {
			t.Errorf("the event is %+v", ev)
		}
	}
}

// An answer that contradicts may stand; one that would have it sent again may not.
//
// covers: I5, I9
func TestAPersonLetsAnAnswerStand(t *testing.T) {
	late := answer(message.OutcomeAccepted)
	c := sent(message.OutcomeThrottled).apply(t, late, attach(late))
	wantState(t, c, message.Accepted, false)
	if a := c.Attempts[0]; string(a.ExternalID) != "A1B2" || a.Code != late.Code {
		t.Errorf("the attempt is %+v", a)
	}
	refusal := answer(message.OutcomeRejected)
	c = sent(message.OutcomeAccepted).apply(t, refusal, attach(refusal))
	wantState(t, c, message.Rejected, true)
	reported := sent(message.OutcomeAccepted).apply(t, report("DELIVRD"))
	refuses(t, reported, attach(refusal), made+3*second, ErrState)
	for _, o := range []message.Outcome{message.OutcomeThrottled, message.OutcomeNotSent, message.OutcomeUnknown} {
		refuses(t, sent(message.OutcomeAccepted), attach(answer(o)), made+3*second, ErrState)
	}
	stranger := attach(report("DELIVRD"))
	stranger.Attempt = 4
	refuses(t, sent(message.OutcomeAccepted), stranger, made+3*second, ErrNoAttempt)
}

// Of two attempts the first was taken after all: nothing follows the second, which was refused for now.
//
// covers: I3, I5
func TestACorrectedAttemptIsNotSentAgain(t *testing.T) {
	c := sent(message.OutcomeThrottled)
	c.claim(made + 20*second)
	c.open(1)
	second2 := answer(message.OutcomeThrottled)
	second2.Attempt = 2
	c.apply(t, second2, attach(answer(message.OutcomeAccepted)))
	wantState(t, c, message.Accepted, false)
	if q, _ := c.Schedule(made + 60*second); q != QueueFinality {
		t.Errorf("it waits in queue %d", q)
	}
}

// The key follows a correction: it ends when the message leaves its window, and goes on when it is inside again.
//
// covers: D6
func TestTheKeyFollowsACorrection(t *testing.T) {
	c := sent(message.OutcomeAccepted).apply(t, report("UNDELIV")) // its window holds delivered messages
	if !c.CloseKey || c.OpenKey {
		t.Fatalf("undelivered: closed %v", c.CloseKey)
	}
	c.CloseKey = false // as the store reads a case
	c.apply(t, attach(report("DELIVRD")))
	if c.CloseKey || !c.OpenKey {
		t.Errorf("delivered after all: closed %v, open %v", c.CloseKey, c.OpenKey)
	}
	c.OpenKey = false
	c.apply(t, attach(report("EXPIRED")))
	if !c.CloseKey || c.OpenKey {
		t.Errorf("expired after all: closed %v, open %v", c.CloseKey, c.OpenKey)
	}
	c = sent(message.OutcomeAccepted).apply(t, report("UNDELIV"), attach(report("DELIVRD"))) // in one transaction
	if c.CloseKey && c.OpenKey {
		t.Error("the key both ends and goes on")
	}
}

// The same answer comes again where the commit that kept it was lost: a person is told once, also by the store that
// remembers what it told.
//
// covers: I9, I13
func TestAContradictionIsToldOnce(t *testing.T) {
	c := sent(message.OutcomeRejected).apply(t, answer(message.OutcomeAccepted), answer(message.OutcomeAccepted))
	wantExceptions(t, c, exception.Conflicting)
	wantKinds(t, c, EventOutcome, EventConflict)
	if x := c.Exceptions[0]; x.Event != c.Events[1].N || x.State != exception.Open {
		t.Errorf("the exception is %+v", x)
	}
	again := sent(message.OutcomeRejected)
	again.Told = []string{again.Contradiction(answer(message.OutcomeAccepted))}
	again.apply(t, answer(message.OutcomeAccepted), answer(message.OutcomeThrottled))
	wantExceptions(t, again, exception.Conflicting)
	if again.Contradiction(answer(message.OutcomeRejected)) != "" || again.Contradiction(Evidence{Attempt: 9}) != "" {
		t.Error("what contradicts nothing is told of")
	}
}
