package evidence

import (
	"testing"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/ident"
)

// word is a person's word on all attempts without an outcome.
func word(o message.Outcome) Evidence {
	return Evidence{Kind: Declared, Outcome: o, Person: "ann", Reason: "the carrier's list"}
}

// closed is a message whose outcome stayed unknown until no receipt was awaited any more.
func closed(t *testing.T) *Case {
	t.Helper()
	c := sent(message.OutcomeUnknown)
	if err := c.Apply(Evidence{Kind: ReceiptTimeEnded}, receipts); err != nil || !c.Final {
		t.Fatalf("it is not closed: %v", err)
	}
	return c
}

// What nobody knows is settled by a person's word, final or not, with what it costs. Each word is an event of its own.
//
// covers: R6, I10, I19
func TestAPersonSaysWhatBecameOfIt(t *testing.T) {
	first := wallet.Part{Attempt: 1, Part: 1}
	for name, c := range map[string]struct {
		c      *Case
		said   message.Outcome
		state  message.State
		final  bool
		charge wallet.State
	}{
		"taken":                {sent(message.OutcomeUnknown), message.OutcomeAccepted, message.Accepted, false, wallet.Settled},
		"not taken":            {sent(message.OutcomeUnknown), message.OutcomeNotSent, message.Rejected, true, wallet.Released},
		"taken, and final":     {closed(t), message.OutcomeAccepted, message.Accepted, true, wallet.Settled},
		"not taken, and final": {closed(t), message.OutcomeNotSent, message.Rejected, true, wallet.Released},
	} {
		t.Run(name, func(t *testing.T) {
			charged(t, c.c, map[wallet.Part]wallet.State{first: wallet.Held})
			now := made + 3*second
			if c.c.Final {
				now = receipts + second
			}
			if err := c.c.Apply(word(c.said), now); err != nil {
				t.Fatal(err)
			}
			wantState(t, c.c, c.state, c.final)
			charged(t, c.c, map[wallet.Part]wallet.State{first: c.charge})
			ev := c.c.Events[len(c.c.Events)-1]
			if ev.Kind != EventResolved || !ev.Declared() || ev.From != message.Unknown || ev.To != c.state || ev.Attempt != 1 || ev.Part != 1 ||
				ev.Detail["by"] != "ann" || ev.Detail["reason"] != "the carrier's list" || ev.Detail["outcome"] != c.said.String() {
				t.Errorf("the event is %+v", ev)
			}
			wantExceptions(t, c.c)
			refuses(t, c.c, word(c.said), now+second, ErrSettled)
		})
	}
}

// A word is about what nobody knows, and about nothing else.
//
// covers: I8, I9
func TestAWordOnWhatIsKnownIsRefused(t *testing.T) {
	second2 := word(message.OutcomeAccepted)
	second2.Attempt = 2
	for name, c := range map[string]struct {
		c    *Case
		e    Evidence
		want error
	}{
		"it waits":           {pending(), word(message.OutcomeNotSent), ErrNoAttempt},
		"it is being sent":   {sending(1), word(message.OutcomeNotSent), ErrSettled},
		"it was taken":       {sent(message.OutcomeAccepted), word(message.OutcomeNotSent), ErrSettled},
		"it was refused":     {sent(message.OutcomeRejected), word(message.OutcomeAccepted), ErrSettled},
		"no such attempt":    {sent(message.OutcomeUnknown), second2, ErrNoAttempt},
		"it would be resent": {sent(message.OutcomeUnknown), word(message.OutcomeThrottled), ErrState},
	} {
		t.Run(name, func(t *testing.T) { refuses(t, c.c, c.e, made+5*second, c.want) })
	}
}

// Of a long message each part that is meant gets its word. What was not taken ends the rest, which costs nothing then;
// what was taken lets the rest go on.
//
// covers: I5, I10
func TestAWordOnPartsOfALongMessage(t *testing.T) {
	long := func() *Case {
		c := sending(1)
		c.Parts = 3
		return c.apply(t, answer(message.OutcomeUnknown))
	}
	c := long().apply(t, word(message.OutcomeNotSent))
	wantState(t, c, message.Rejected, true)
	charged(t, c, map[wallet.Part]wallet.State{{Attempt: 1, Part: 1}: wallet.Released})
	c = long().apply(t, word(message.OutcomeAccepted))
	wantState(t, c, message.Pending, false)
	charged(t, c, map[wallet.Part]wallet.State{
		{Attempt: 1, Part: 1}: wallet.Settled, {Attempt: 1, Part: 2}: wallet.Held, {Attempt: 1, Part: 3}: wallet.Held,
	})

	two := sending(2).apply(t, answer(message.OutcomeUnknown), about(2, answer(message.OutcomeUnknown)))
	n := len(two.Events)
	one := word(message.OutcomeNotSent)
	one.Attempt, one.Part = 1, 2
	two.apply(t, one)
	wantState(t, two, message.Unknown, false)
	charged(t, two, map[wallet.Part]wallet.State{{Attempt: 1, Part: 1}: wallet.Held, {Attempt: 1, Part: 2}: wallet.Released})
	two.apply(t, word(message.OutcomeAccepted))
	wantState(t, two, message.Failed, false) // a piece of it is at the carrier, and may be reported
	if len(two.Events) != n+2 || two.Events[n].Part != 2 || two.Events[n+1].Part != 1 {
		t.Errorf("the events are %+v", two.Events[n:])
	}
	both := sending(2).apply(t, answer(message.OutcomeUnknown), about(2, answer(message.OutcomeUnknown)), word(message.OutcomeAccepted))
	wantState(t, both, message.Accepted, false)
}

// A person may be wrong. What comes later is kept and shown; what fits the word is taken in.
//
// covers: R6, R9, I9
func TestWhatComesAfterAWord(t *testing.T) {
	c := sent(message.OutcomeUnknown).apply(t, word(message.OutcomeAccepted), report("DELIVRD"))
	wantState(t, c, message.Delivered, true)
	c = sent(message.OutcomeUnknown).apply(t, word(message.OutcomeAccepted), answer(message.OutcomeRejected))
	wantState(t, c, message.Accepted, false)
	wantExceptions(t, c, exception.Conflicting)
	c = sent(message.OutcomeUnknown).apply(t, word(message.OutcomeNotSent), report("DELIVRD"))
	wantState(t, c, message.Rejected, true)
	wantExceptions(t, c, exception.Conflicting)
	// Receipts that are read again, and say nothing any more, do not take the word away.
	c = sent(message.OutcomeUnknown).apply(t, word(message.OutcomeAccepted), numbered(1, report("DELIVRD")))
	read := as(1, "DELIVRD", "")
	c.apply(t, reread(c, map[ident.Receipt]*ReceiptFacts{read.ID: read}, 1))
	wantState(t, c, message.Accepted, false)
}
