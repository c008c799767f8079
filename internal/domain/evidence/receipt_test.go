package evidence

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
)

// covers: D16, R6
func TestReceiptMovesTheMessage(t *testing.T) {
	for status, want := range map[string]struct {
		state message.State
		final bool
	}{
		"DELIVRD": {message.Delivered, true},
		"UNDELIV": {message.Undelivered, true},
		"REJECTD": {message.Undelivered, true},
		"EXPIRED": {message.Expired, true},
		"ENROUTE": {message.EnRoute, false},
		"ACCEPTD": {message.Accepted, false},
		"UNKNOWN": {message.Accepted, false},
	} {
		c := sent(message.OutcomeAccepted)
		c.Attempts[0].Changed = false
		c.apply(t, report(status))
		wantState(t, c, want.state, want.final)
		wantKinds(t, c, EventOutcome, EventReceipt)
		wantExceptions(t, c)
		a, e := c.Attempts[0], c.Events[1]
		if a.Delivery.String() != report(status).Receipt.State || a.StatusRaw != status || a.ErrorCode != "001" || a.DeliveredAt != made+2*second || !a.Changed {
			t.Errorf("%s was kept as %+v", status, a)
		}
		if e.Receipt != report(status).Receipt.ID || e.Detail["status"] != status || e.Detail["match"] != string(ByExternalID) || e.Detail["error_code"] != "001" {
			t.Errorf("%s is in the history as %+v", status, e)
		}
	}
}

// A receipt is the answer that was lost, or that has not come yet.
//
// covers: D9, R5, I7, I9
func TestReceiptSettlesALostAnswer(t *testing.T) {
	for name, c := range map[string]*Case{"open": sending(1), "unknown": sent(message.OutcomeUnknown)} {
		c.apply(t, report("ENROUTE"))
		a := c.Attempts[0]
		if a.Outcome != message.OutcomeAccepted || string(a.ExternalID) != "A1B2" || a.AnsweredAt != made+2*second {
			t.Errorf("%s: the attempt is %+v", name, a)
		}
		wantState(t, c, message.EnRoute, false)
		if c.Leased {
			t.Errorf("%s: the message is still leased", name)
		}
	}
}

// The answer and receipts lead to one end in whatever order they come, the lack of an answer among them or not.
//
// covers: R5, R8, I9
func TestOrderOfAnswerAndReceiptsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := []Evidence{answer(message.OutcomeAccepted), report(rapid.SampledFrom([]string{"DELIVRD", "UNDELIV", "EXPIRED"}).Draw(t, "final"))}
		for _, s := range rapid.SliceOfN(rapid.SampledFrom([]string{"ENROUTE", "ACCEPTD", "UNKNOWN"}), 0, 3).Draw(t, "intermediate") {
			all = append(all, report(s))
		}
		if rapid.Bool().Draw(t, "timer fires") {
			all = append(all, answer(message.OutcomeUnknown))
		}
		end := func(order []Evidence) Attempt {
			c := sending(1)
			for _, e := range order {
				if err := c.Apply(e, made+second); err != nil {
					t.Fatal(err)
				}
			}
			if !c.Final || len(c.Exceptions) > 0 || c.State.String() != c.Attempts[0].Delivery.String() {
				t.Fatalf("it is %s, final %v, with exceptions %q", c.State, c.Final, excepted(c))
			}
			a := c.Attempts[0]
			a.Code, a.CodeName = "", "" // of the answer alone, if it came first
			return a
		}
		if a, b := end(all), end(rapid.Permutation(all).Draw(t, "order")); !reflect.DeepEqual(a, b) {
			t.Fatalf("one order gives %+v\nanother %+v", a, b)
		}
	})
}

// The orders of one provider's callbacks.
//
// covers: R6, R10
func TestOrdersOfReceipts(t *testing.T) {
	for name, c := range map[string]struct {
		statuses []string
		state    message.State
		conflict bool
		last     EventKind
	}{
		"in order":           {[]string{"ACCEPTD", "ENROUTE", "DELIVRD"}, message.Delivered, false, EventReceipt},
		"reversed":           {[]string{"DELIVRD", "ENROUTE", "ACCEPTD"}, message.Delivered, false, EventOvertaken},
		"mixed":              {[]string{"ENROUTE", "DELIVRD", "ENROUTE", "DELIVRD"}, message.Delivered, false, EventRepeated},
		"failed, then sent":  {[]string{"UNDELIV", "ENROUTE"}, message.Undelivered, false, EventOvertaken},
		"failed, then good":  {[]string{"UNDELIV", "DELIVRD"}, message.Undelivered, true, EventConflict},
		"good, then failed":  {[]string{"DELIVRD", "UNDELIV"}, message.Delivered, true, EventConflict},
		"expired, then good": {[]string{"EXPIRED", "DELIVRD"}, message.Expired, true, EventConflict},
		"less than known":    {[]string{"ENROUTE", "ACCEPTD"}, message.EnRoute, false, EventRepeated},
	} {
		t.Run(name, func(t *testing.T) {
			k := sent(message.OutcomeAccepted)
			for _, s := range c.statuses {
				k.apply(t, report(s))
			}
			wantState(t, k, c.state, c.state != message.EnRoute)
			if last := k.Events[len(k.Events)-1].Kind; last != c.last {
				t.Errorf("the last event is %q, want %q", last, c.last)
			}
			if c.conflict {
				wantExceptions(t, k, exception.Conflicting)
				if k.Exceptions[0].Receipt != report("").Receipt.ID {
					t.Error("the exception does not name its receipt")
				}
			} else {
				wantExceptions(t, k)
			}
		})
	}
}

// A repeat changes nothing but the history, whatever it repeats: also what opened an exception.
//
// covers: R6, R10, I13
func TestRepeatsChangeOnlyTheHistory(t *testing.T) {
	for name, c := range map[string]struct {
		c *Case
		e Evidence
	}{
		"delivered":        {sent(message.OutcomeAccepted), report("DELIVRD")},
		"under way":        {sent(message.OutcomeAccepted), report("ENROUTE")},
		"nobody knows":     {sent(message.OutcomeAccepted), report("UNKNOWN")},
		"lost answer":      {sent(message.OutcomeUnknown), report("DELIVRD")},
		"conflict":         {sent(message.OutcomeAccepted).apply(t, report("UNDELIV")), report("DELIVRD")},
		"unreadable":       {sent(message.OutcomeAccepted), report("FAILED")},
		"after a refusal":  {sent(message.OutcomeRejected), report("DELIVRD")},
		"after a throttle": {sent(message.OutcomeThrottled), report("DELIVRD")},
	} {
		t.Run(name, func(t *testing.T) {
			c.c.apply(t, c.e)
			before, exceptions, events := facts(c.c), len(c.c.Exceptions), len(c.c.Events)
			for range 3 {
				if err := c.c.Apply(repeated(c.e), valid+second); err != nil {
					t.Fatal(err)
				}
			}
			if after := facts(c.c); !reflect.DeepEqual(after, before) {
				t.Errorf("a repeat changed the case\nfrom %+v\n  to %+v", before, after)
			}
			if len(c.c.Exceptions) != exceptions {
				t.Errorf("repeats made exceptions: %q", excepted(c.c))
			}
			if got := kinds(c.c)[events:]; !slices.Equal(got, []EventKind{EventRepeated, EventRepeated, EventRepeated}) {
				t.Errorf("repeats are in the history as %q", got)
			}
		})
	}
}

// A repeat of a receipt that had found no message has its effect once the message is found.
//
// covers: R5, R10
func TestRepeatThatIsTheFirstToArrive(t *testing.T) {
	c := sent(message.OutcomeAccepted).apply(t, repeated(report("DELIVRD")))
	wantState(t, c, message.Delivered, true)
	wantKinds(t, c, EventOutcome, EventReceipt)
}

// covers: R6
func TestIntermediateNotificationIsNeverFinal(t *testing.T) {
	for _, status := range []string{"DELIVRD", "UNDELIV", "EXPIRED"} {
		c := sent(message.OutcomeAccepted).apply(t, intermediate(report(status)))
		wantState(t, c, message.EnRoute, false)
		if c.Attempts[0].Delivery != message.DeliveryEnRoute || c.Attempts[0].StatusRaw != status {
			t.Errorf("%s was kept as %+v", status, c.Attempts[0])
		}
		c.apply(t, report("UNDELIV"), intermediate(report("DELIVRD")))
		wantState(t, c, message.Undelivered, true)
		wantExceptions(t, c)
		wantKinds(t, c, EventOutcome, EventReceipt, EventReceipt, EventOvertaken)
	}
}

// covers: R6, R11
func TestUnknownStatusMovesNothing(t *testing.T) {
	for _, c := range []*Case{sent(message.OutcomeAccepted), sent(message.OutcomeUnknown), sending(1), sent(message.OutcomeAccepted).apply(t, report("DELIVRD"))} {
		for _, status := range []string{"FAILED", "ACKED", "", "none"} {
			e := report(status)
			if status == "none" {
				e.Receipt.State = message.DeliveryNone.String()
			}
			k := clone(c)
			k.Exceptions = nil
			before := facts(k)
			k.apply(t, e)
			if after := facts(k); !reflect.DeepEqual(after, before) {
				t.Errorf("%q changed the case\nfrom %+v\n  to %+v", status, before, after)
			}
			wantExceptions(t, k, exception.Unreadable)
			if last := k.Events[len(k.Events)-1]; last.Kind != EventConflict || last.Receipt != e.Receipt.ID {
				t.Errorf("%q is in the history as %+v", status, last)
			}
		}
	}
}

// covers: R6, I7
func TestReceiptAgainstADefiniteNo(t *testing.T) {
	for _, o := range []message.Outcome{message.OutcomeRejected, message.OutcomeThrottled, message.OutcomeNotSent} {
		for _, status := range []string{"DELIVRD", "ENROUTE"} {
			c := sent(o)
			before := facts(c)
			c.apply(t, report(status))
			if after := facts(c); !reflect.DeepEqual(after, before) {
				t.Errorf("%s after %s changed the case\nfrom %+v\n  to %+v", status, o, before, after)
			}
			wantExceptions(t, c, exception.Conflicting)
			wantKinds(t, c, EventOutcome, EventConflict)
		}
	}
}

// A message of three parts.
//
// covers: D5, R6
func TestReceiptsOfParts(t *testing.T) {
	for name, c := range map[string]struct {
		parts    []uint16
		statuses []string
		states   []message.State
	}{
		"all good": {[]uint16{2, 1, 3}, []string{"DELIVRD", "DELIVRD", "DELIVRD"}, []message.State{message.Accepted, message.Accepted, message.Delivered}},
		"one bad":  {[]uint16{1, 2, 3}, []string{"DELIVRD", "UNDELIV", "DELIVRD"}, []message.State{message.Accepted, message.Undelivered, message.Undelivered}},
		"one told": {[]uint16{1}, []string{"DELIVRD"}, []message.State{message.Accepted}},
	} {
		t.Run(name, func(t *testing.T) {
			k := sending(3)
			for p := uint16(1); p <= 3; p++ {
				k.apply(t, about(p, answer(message.OutcomeAccepted)))
			}
			for i, p := range c.parts {
				e := about(p, report(c.statuses[i]))
				e.Receipt.ExternalID = k.Attempts[p-1].ExternalID
				k.apply(t, e)
				wantState(t, k, c.states[i], i == 2)
			}
			wantExceptions(t, k)
		})
	}
}
