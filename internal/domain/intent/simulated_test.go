package intent

import "testing"

// A test never stands for the message that somebody is to get, nor that for a test; two tests of one intent meet.
//
// covers: D1, D7
func TestWhatIsSimulatedMeetsItselfAlone(t *testing.T) {
	w := newWorld()
	request := func(simulated bool) *Request {
		return seal(&Request{Tenant: 1, Purpose: purposes[0], To: number("+12025550143"), Event: Event{ID: "a", Version: "1"}, Sender: "s", Simulated: simulated}, "text")
	}
	test, live := w.decide(request(true))[0].Decision, w.decide(request(false))[0].Decision
	if test.Action != Allow || live.Action != Allow {
		t.Errorf("the test: %s; the message after it: %s", test.Action, live.Action)
	}
	for simulated, first := range map[bool]Decision{true: test, false: live} {
		if again := w.decide(request(simulated))[0].Decision; again.Action != Suppress || again.Message.ID != first.Message.ID {
			t.Errorf("again, simulated %t: %+v", simulated, again)
		}
	}
	if Simulated("messages.send") == "messages.send" {
		t.Error("test keys share idempotency keys with others")
	}
}
