package evidence

import (
	"slices"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
)

// retryDue is a message whose attempt was reported undelivered, and which is to be tried again.
func retryDue() *Case {
	c := sent(message.OutcomeAccepted)
	if err := c.Apply(report("UNDELIV"), made+2*second); err != nil {
		panic(err)
	}
	c.State, c.Final, c.CloseKey, c.Events = message.RetryDue, false, false, nil
	return c
}

// Whatever the copy held as not finished is unknown afterwards: what waited, what was claimed, what was being sent,
// what was to be tried again. Nothing of it is due.
//
// covers: D20, I19, I8
func TestRestoredMakesUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		of         *Case
		open, lost string
		attempts   int
	}{
		"pending":          {pending(), "0", "1", 1},
		"claimed":          {claimed(), "0", "1", 1},
		"sending":          {sending(1), "1", "0", 1},
		"throttled":        {sent(message.OutcomeThrottled), "0", "1", 2},
		"not sent":         {sent(message.OutcomeNotSent), "0", "1", 2},
		"retry due":        {retryDue(), "0", "1", 2},
		"two parts, open":  {sending(2), "2", "0", 2},
		"two parts, gated": {func() *Case { c := sending(1); c.Parts = 2; return c }(), "1", "1", 2},
		"two parts, fresh": {func() *Case { c := pending(); c.Parts = 2; return c }(), "0", "2", 2},
	} {
		t.Run(name, func(t *testing.T) {
			k := c.of
			k.Events = nil
			if err := k.Apply(Evidence{Kind: Restored}, made+20*second); err != nil {
				t.Fatal(err)
			}
			wantState(t, k, message.Unknown, false)
			wantKinds(t, k, EventRestored)
			wantExceptions(t, k)
			if e := k.Events[0]; e.Detail["open"] != c.open || e.Detail["lost"] != c.lost || e.Attempt != k.LastAttempt() {
				t.Errorf("the history says %+v", e)
			}
			if q, _ := k.Schedule(made + 20*second); q != QueueFinality || k.Leased || len(k.Attempts) != c.attempts {
				t.Errorf("it waits in queue %d, leased %v, with attempts %+v", q, k.Leased, k.Attempts)
			}
			last := k.Attempts[len(k.Attempts)-1]
			if wantLost := c.lost != "0"; last.New != wantLost || (last.Code == CodeRestored) != wantLost || last.Outcome != message.OutcomeUnknown {
				t.Errorf("the last attempt is %+v", last)
			}
			refuses(t, k, Evidence{Kind: Restored}, made+30*second, ErrState) // once is enough
		})
	}
}

// What is over, or was handed over, is not touched: receipts will tell.
//
// covers: D20
func TestRestoredLeavesWhatIsFinished(t *testing.T) {
	held := pending()
	held.State = message.Held
	cancelled := pending().apply(t, Evidence{Kind: Cancel, Person: "ann", Reason: "wrong"})
	for _, c := range []*Case{
		held, cancelled, sent(message.OutcomeAccepted), sent(message.OutcomeUnknown), sent(message.OutcomeRejected),
		sent(message.OutcomeAccepted).apply(t, report("DELIVRD")),
	} {
		refuses(t, c, Evidence{Kind: Restored}, made+20*second, ErrState)
	}
}

// The moment of the copy narrows what is in doubt: the copy cannot hold what was taken later, and nothing leaves
// after its validity.
//
// covers: D20
func TestRestoredAsOf(t *testing.T) {
	for name, c := range map[string]struct {
		of   *Case
		asOf clock.Micros
		want message.State
	}{
		"taken before the copy":          {pending(), made + second, message.Unknown},
		"taken at that very moment":      {pending(), made, message.Unknown},
		"taken after the copy":           {pending(), made - 1, message.Pending},
		"its validity was over":          {pending(), valid, message.Pending},
		"its validity was not over":      {pending(), valid - 1, message.Unknown},
		"claimed, its validity was over": {claimed(), valid, message.Sending},
		"open, its validity was over":    {sending(1), valid + second, message.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			e := Evidence{Kind: Restored, AsOf: c.asOf}
			if c.want != message.Unknown {
				refuses(t, c.of, e, made+200*second, ErrState)
				return
			}
			if err := c.of.Apply(e, made+200*second); err != nil {
				t.Fatal(err)
			}
			wantState(t, c.of, c.want, false)
		})
	}
}

// A receipt or a late answer settles what a restore left in doubt, like any other unknown attempt.
//
// covers: D9, D20, I19
func TestEvidenceSettlesTheRestored(t *testing.T) {
	for name, c := range map[string]struct {
		e    Evidence
		want message.State
	}{
		"receipt": {report("DELIVRD"), message.Delivered},
		"answer":  {answer(message.OutcomeAccepted), message.Accepted},
		"refusal": {answer(message.OutcomeRejected), message.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			k := pending().apply(t, Evidence{Kind: Restored}, c.e)
			if k.State != c.want {
				t.Errorf("it is %s, want %s", k.State, c.want)
			}
			wantExceptions(t, k)
			refuses(t, k, Evidence{Kind: Requeued, Person: "ann", Reason: "not in their list"}, made+20*second, ErrState)
		})
	}
}

// A person may say that it was not sent. Then it waits again, as an attempt of its own; evidence that says
// otherwise afterwards is for a person.
//
// covers: D20, I19
func TestRequeued(t *testing.T) {
	word := Evidence{Kind: Requeued, Person: "ann", Reason: "not in the provider's list"}
	c := pending().apply(t, Evidence{Kind: Restored}, word)
	wantState(t, c, message.Pending, false)
	wantKinds(t, c, EventRestored, EventRequeued)
	if e := c.Events[1]; e.Detail["by"] != "ann" || e.Detail["reason"] != word.Reason || e.From != message.Unknown {
		t.Errorf("the history says %+v", e)
	}
	if q, _ := c.Schedule(made + 10*second); q != flow {
		t.Errorf("it waits in queue %d", q)
	}
	refuses(t, c, word, made+20*second, ErrState)
	c.apply(t, report("DELIVRD"))
	wantExceptions(t, c, exception.Conflicting)

	late := pending().apply(t, Evidence{Kind: Restored})
	if err := late.Apply(word, valid); err != nil {
		t.Fatal(err)
	}
	wantState(t, late, message.Expired, true)

	over := pending().apply(t, Evidence{Kind: Restored})
	if err := over.Apply(Evidence{Kind: ReceiptTimeEnded}, receipts); err != nil {
		t.Fatal(err)
	}
	refuses(t, over, word, receipts, ErrState)
}

// A person's word covers all that the restore left in doubt: what was open in the copy leaves again, with the parts
// that the store does not remember. What was handed over is not sent again, whenever that was learned.
//
// covers: D20, I3, I5, I19
func TestRequeuedSendsWhatIsInDoubt(t *testing.T) {
	word := Evidence{Kind: Requeued, Person: "ann", Reason: "not in the provider's list"}
	doubted := Evidence{Kind: Restored}
	gated := func() *Case { c := sending(1); c.Parts = 3; return c }
	rest := func() *Case { // the second of three parts is open, the first was taken
		c := gated()
		c.apply(t, Evidence{Kind: Outcome, Attempt: 1, Part: 1, Outcome: message.OutcomeAccepted, ExternalID: []byte("A1B2"), Hold: time.Second})
		return c.open(2)
	}
	for name, c := range map[string]struct {
		of             *Case
		gated, allowed []uint16 // what may be sent at first, and once the first part is taken
	}{
		"open":                       {sending(1).apply(t, doubted), []uint16{1}, nil},
		"first open, rest waits":     {gated().apply(t, doubted), []uint16{1}, []uint16{2, 3}},
		"all open":                   {sending(3).apply(t, doubted), []uint16{1}, []uint16{2, 3}},
		"second open":                {rest().apply(t, doubted), []uint16{2, 3}, []uint16{2, 3}},
		"first answered at last":     {gated().apply(t, doubted, answer(message.OutcomeAccepted)), []uint16{2, 3}, []uint16{2, 3}},
		"first reported":             {gated().apply(t, doubted, report("DELIVRD")), []uint16{2, 3}, []uint16{2, 3}},
		"first attached by a person": {gated().apply(t, doubted, attach(report("ENROUTE"))), []uint16{2, 3}, []uint16{2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			k := c.of.apply(t, word)
			wantState(t, k, message.Pending, false)
			k.claim(made + 20*second)
			if owed := k.Owed(made+20*second, false); !slices.Equal(owed, c.gated) {
				t.Fatalf("%v may be sent, want %v: %+v", owed, c.gated, k.Attempts)
			}
			for _, part := range c.gated {
				k.open(part)
			}
			if c.gated[0] == 1 {
				taken := answer(message.OutcomeAccepted)
				taken.Attempt, taken.Hold = 2, time.Second
				k.apply(t, taken)
				if owed := k.Owed(made+20*second, false); !slices.Equal(owed, c.allowed) {
					t.Errorf("after the first %v may be sent, want %v", owed, c.allowed)
				}
			}
		})
	}
}

// The code of an attempt that was open in the copy makes room for the provider's own, which may come after a receipt.
//
// covers: I9, D20
func TestAnOpenAttemptKeepsItsAnswerAfterARestore(t *testing.T) {
	c := sending(1).apply(t, Evidence{Kind: Restored})
	if a := c.Attempts[0]; a.Code != CodeInCopy || !a.Changed {
		t.Fatalf("in doubt it is %+v", a)
	}
	c.apply(t, report("ENROUTE"), answer(message.OutcomeAccepted))
	if a := c.Attempts[0]; a.Code != "0x00000000" || a.Outcome != message.OutcomeAccepted {
		t.Errorf("settled it is %+v", a)
	}
}

// An attempt whose answer was lost is no doubt of a restore's: nobody's word sends it again. Where it keeps back all
// that the word is about, that is refused.
//
// covers: I5, I19, D20
func TestRequeuedNeedsARestore(t *testing.T) {
	word := Evidence{Kind: Requeued, Person: "ann", Reason: "gone"}
	for _, c := range []*Case{sent(message.OutcomeUnknown), pending(), sent(message.OutcomeAccepted)} {
		refuses(t, c, word, made+20*second, ErrState)
	}
	together := sending(2)
	together.Parts = 3
	together.apply(t, answer(message.OutcomeUnknown), Evidence{Kind: Restored})
	wantState(t, together, message.Unknown, false)
	refuses(t, together, word, made+20*second, ErrStillUnknown)
	together.apply(t, report("DELIVRD"), word)
	wantState(t, together, message.Pending, false)

	gap := sending(2) // of three parts the second has no answer: the third leaves, and it does not
	gap.Parts = 3
	gap.apply(t, answer(message.OutcomeAccepted), about(2, answer(message.OutcomeUnknown)))
	gap.Leased, gap.State = false, message.Pending
	gap.apply(t, Evidence{Kind: Restored}, word)
	wantState(t, gap, message.Pending, false)
	gap.claim(made + 20*second)
	if owed := gap.Owed(made+20*second, false); !slices.Equal(owed, []uint16{3}) {
		t.Errorf("%v may be sent", owed)
	}
}
