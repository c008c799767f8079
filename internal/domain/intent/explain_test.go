package intent

import (
	"strings"
	"testing"
)

// What is held back for its text alone is told what would make it another message: something that the key has.
//
// covers: D17
func TestWhatWouldMakeItAnother(t *testing.T) {
	for i, want := range []string{"give the event another version.", "give it another event."} {
		w := newWorld()
		first := &Request{Tenant: 1, Purpose: purposes[i], To: number("+12025550143"), Event: Event{ID: "a", Version: "1"}, Sender: "s"}
		other := *first
		d := w.decide(seal(first, "text"), seal(&other, "other"))[1].Decision
		if d.Action != Suppress || !strings.HasSuffix(d.Explanation, want) {
			t.Errorf("%s: %s", purposes[i].Name, d.Explanation)
		}
	}
}
