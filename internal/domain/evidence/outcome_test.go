package evidence

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
)

// covers: D5, D9, D16
func TestAnswerMovesTheMessage(t *testing.T) {
	for o, want := range map[message.Outcome]struct {
		state message.State
		final bool
	}{
		message.OutcomeAccepted:  {message.Accepted, false},
		message.OutcomeRejected:  {message.Rejected, true},
		message.OutcomeThrottled: {message.Pending, false},
		message.OutcomeNotSent:   {message.Pending, false},
		message.OutcomeUnknown:   {message.Unknown, false},
	} {
		c := sent(o)
		a, e := c.Attempts[0], answer(o)
		wantState(t, c, want.state, want.final)
		wantKinds(t, c, EventOutcome)
		if a.Outcome != o || a.Code != e.Code || a.CodeName != e.CodeName || string(a.ExternalID) != string(e.ExternalID) || a.AnsweredAt != made+second || !a.Changed {
			t.Errorf("%s was kept as %+v", o, a)
		}
		if c.Leased || c.Since != made+second {
			t.Errorf("after %s: leased %v, since %d", o, c.Leased, c.Since)
		}
	}
}

// The attempt takes its first definite outcome from whoever learns it; a different one after it is kept in the
// history, makes one exception and moves nothing.
//
// covers: I7, I9
func TestFirstDefiniteOutcomeWins(t *testing.T) {
	definite := []message.Outcome{message.OutcomeAccepted, message.OutcomeRejected, message.OutcomeThrottled, message.OutcomeNotSent}
	for _, first := range definite {
		for _, later := range append(definite, message.OutcomeUnknown, message.OutcomeOpen) {
			c := sent(first)
			before := facts(c)
			late := answer(later)
			late.Late = true
			c.apply(t, late)
			if after := facts(c); !reflect.DeepEqual(after, before) {
				t.Errorf("%s after %s changed the case\nfrom %+v\n  to %+v", later, first, before, after)
			}
			if !later.Definite() || later == first {
				wantExceptions(t, c)
				wantKinds(t, c, EventOutcome)
				continue
			}
			wantExceptions(t, c, exception.Conflicting)
			wantKinds(t, c, EventOutcome, EventConflict)
			if x := c.Exceptions[0]; x.Message != c.Message || x.Tenant != c.Tenant || x.Connection != c.Connection || x.Attempt != 1 || x.Part != 1 || x.At != made+2*second {
				t.Errorf("the exception is %+v", x)
			}
		}
	}
}

// A contradiction moves nothing, not even to a state that the clock would permit.
//
// covers: I9
func TestConflictDoesNotExpireTheMessage(t *testing.T) {
	c := sent(message.OutcomeThrottled)
	if err := c.Apply(answer(message.OutcomeRejected), valid); err != nil {
		t.Fatal(err)
	}
	wantState(t, c, message.Pending, false)
}

// The steps of an answer that comes after its timer has fired.
//
// covers: D9, I9, O6
func TestLateAnswer(t *testing.T) {
	c := sending(1).apply(t, answer(message.OutcomeUnknown))
	wantState(t, c, message.Unknown, false)
	late := answer(message.OutcomeAccepted)
	late.Late = true
	c.apply(t, late)
	wantState(t, c, message.Accepted, false)
	if id := string(c.Attempts[0].ExternalID); id != "A1B2" {
		t.Errorf("the message id is %q", id)
	}
	c.apply(t, report("DELIVRD"))
	wantState(t, c, message.Delivered, true)
	wantKinds(t, c, EventOutcome, EventLate, EventReceipt)
	wantExceptions(t, c)
}

// A message that is known not to be taken after all is due again, or over if its time is.
//
// covers: D9, I5
func TestLateRefusalOfAnUnknownAttempt(t *testing.T) {
	c := sent(message.OutcomeUnknown).apply(t, answer(message.OutcomeThrottled))
	wantState(t, c, message.Pending, false)

	c = sent(message.OutcomeUnknown)
	if err := c.Apply(answer(message.OutcomeThrottled), valid); err != nil {
		t.Fatal(err)
	}
	wantState(t, c, message.Expired, true)

	wantState(t, sent(message.OutcomeUnknown).apply(t, answer(message.OutcomeRejected)), message.Rejected, true)
}

func TestEvidenceOfNoAttempt(t *testing.T) {
	other := answer(message.OutcomeAccepted)
	other.Attempt = 2
	refuses(t, sending(1), other, made, ErrNoAttempt)
	refuses(t, sending(1), about(2, answer(message.OutcomeAccepted)), made, ErrNoAttempt)
	refuses(t, sending(1), about(2, report("DELIVRD")), made, ErrNoAttempt)
	c := sending(1)
	before := clone(c)
	if err := c.Apply(Evidence{}, made); err == nil || !reflect.DeepEqual(c, before) {
		t.Errorf("evidence of no kind gave %v and %+v", err, c)
	}
}

// An id that is learned after the outcome is kept; one that is known is never replaced. The answer that brings it is
// in the history, once.
//
// covers: R4, R15
func TestMessageIDComesAfterTheReceipt(t *testing.T) {
	byReference := report("DELIVRD")
	byReference.Receipt.ExternalID = nil
	c := sending(1).apply(t, byReference)
	c.Attempts[0].Changed = false
	c.apply(t, answer(message.OutcomeAccepted))
	if a := c.Attempts[0]; string(a.ExternalID) != "A1B2" || !a.Changed {
		t.Errorf("the attempt is %+v", a)
	}
	other := answer(message.OutcomeAccepted)
	other.ExternalID = []byte("other")
	c.apply(t, other)
	if id := string(c.Attempts[0].ExternalID); id != "A1B2" {
		t.Errorf("the message id became %q", id)
	}
	wantKinds(t, c, EventReceipt, EventOutcome)
	if e := c.Events[1]; e.From != message.Delivered || e.To != message.Delivered || e.Detail["external_id"] != "A1B2" {
		t.Errorf("the answer is in the history as %+v", e)
	}
	wantExceptions(t, c)
	refusal := answer(message.OutcomeRejected)
	refusal.ExternalID = []byte("A1B2")
	denied := sending(1).apply(t, refusal, refusal, answer(message.OutcomeAccepted))
	if a := denied.Attempts[0]; a.ExternalID != nil {
		t.Errorf("a rejected attempt took the message id %q", a.ExternalID)
	}
}

// A receipt that settled a lost answer may write the message id otherwise than the answer that comes at last: the
// answer's is the attempt's, as received.
//
// covers: R4, R15
func TestTheAnswersMessageIDCounts(t *testing.T) {
	inDecimal := report("DELIVRD")
	inDecimal.Receipt.ExternalID = []byte("41394")
	late := answer(message.OutcomeAccepted)
	late.Late = true
	none := Evidence{Kind: Outcome, Attempt: 1, Part: 1, Outcome: message.OutcomeUnknown}
	c := sending(1).apply(t, none, inDecimal, late, late)
	if a := c.Attempts[0]; string(a.ExternalID) != "A1B2" || a.Code != "0x00000000" {
		t.Errorf("the attempt is %+v", a)
	}
	wantState(t, c, message.Delivered, true)
	wantKinds(t, c, EventOutcome, EventReceipt, EventLate)
}

// Whatever answers come in whatever order, the outcome is the first definite one, unknown if there was a lack
// of one only, and each exception stands for what contradicts it, however often it comes.
//
// covers: I9
func TestOutcomesInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, first, conflicts := sending(1), message.OutcomeOpen, map[message.Outcome]bool{}
		for _, n := range rapid.SliceOfN(rapid.Uint8Range(2, 6), 1, 8).Draw(t, "answers") {
			o := message.Outcome(n)
			switch {
			case first.Definite() && o.Definite() && o != first:
				conflicts[o] = true
			case !first.Definite():
				first = o
			}
			if err := c.Apply(answer(o), made+second); err != nil {
				t.Fatal(err)
			}
		}
		if c.Attempts[0].Outcome != first || len(c.Exceptions) != len(conflicts) {
			t.Fatalf("outcome %s with %d exceptions, want %s with %d", c.Attempts[0].Outcome, len(c.Exceptions), first, len(conflicts))
		}
	})
}

// A text that nobody can open any more is no provider's refusal: the message has failed, for good, and a repeat
// is a retry.
//
// covers: D16
func TestGivingUp(t *testing.T) {
	c := Case{State: message.Sending, Leased: true, Parts: 1, ValidUntil: 1000, ReceiptUntil: 2000, EventBound: true, While: []message.State{message.Delivered},
		Attempts: []Attempt{{Attempt: 1, Part: 1, Outcome: message.OutcomeOpen}}}
	e := Evidence{Kind: Outcome, Attempt: 1, Part: 1, Outcome: message.OutcomeNotSent, Code: "content_destroyed", GiveUp: true}
	if err := c.Apply(e, 10); err != nil {
		t.Fatal(err)
	}
	if c.State != message.Failed || !c.Final || !c.CloseKey || c.Events[0].Kind != EventFailed || c.Events[0].Detail["code"] != "content_destroyed" {
		t.Errorf("the case is %+v", c)
	}
	if q, _ := c.Schedule(10); q != QueueNone {
		t.Errorf("it waits in queue %d", q)
	}
	// An earlier attempt that may have left is not forgotten over it.
	c = Case{State: message.Sending, Leased: true, Parts: 1, ValidUntil: 1000, ReceiptUntil: 2000,
		Attempts: []Attempt{{Attempt: 1, Part: 1, Outcome: message.OutcomeUnknown}, {Attempt: 2, Part: 1, Outcome: message.OutcomeOpen}}}
	e.Attempt = 2
	if err := c.Apply(e, 10); err != nil || c.State == message.Failed {
		t.Errorf("with an unknown attempt it is %s: %v", c.State, err)
	}
}
