package providertest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/provider"
)

// Run runs the suite. open returns a fresh bench; what it opens it ends with t.Cleanup.
func Run(t *testing.T, open func(*testing.T) Bench) {
	for _, c := range []struct {
		name string
		test func(*run)
	}{
		{"accepted with the far side's id", accepted},
		{"a refusal is definite", rejected},
		{"a throttle is definite", throttled},
		{"a lost answer is unknown", lostAnswer},
		{"a cut connection is unknown and comes back", cut},
		{"a receipt before the answer", receiptFirst},
		{"nothing is written after the deadline", deadline},
		{"nothing is written after the validity", validity},
		{"a text that does not fit is refused unsent", tooLong},
		{"not sent after Stop", afterStop},
		{"an event that was not taken comes again", notTaken},
		{"an inbound message", inbound},
		{"one outcome for each submission, whenever it stops", once},
		{"outcomes have no number and no text", masked},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(start(t, open)) })
	}
	t.Run("not sent before Start", func(t *testing.T) {
		r := &run{t, open(t), newSink()}
		r.expect(r.submit(r.submission(Accepts)), provider.NotSent)
	})
}

func accepted(r *run) {
	o := r.submit(r.submission(Accepts))
	r.expect(o, provider.Accepted)
	e := r.events(1)[0]
	p := e.Parsed
	if p.Kind != provider.KindReceipt || p.State != "delivered" || len(o.ExternalID) == 0 || !bytes.Equal(p.ExternalID, o.ExternalID) {
		r.t.Errorf("receipt %q %q %q for id %q", p.Kind, p.State, p.ExternalID, o.ExternalID)
	}
	if len(e.Payload) == 0 || p.Parser == "" {
		r.t.Errorf("payload of %d octets, parser %q", len(e.Payload), p.Parser)
	}
}

func rejected(r *run) {
	o := r.submit(r.submission(Rejects))
	r.expect(o, provider.Rejected)
	if o.Code == "" || r.Taken() != 0 {
		r.t.Errorf("code %q, %d taken", o.Code, r.Taken())
	}
}

func throttled(r *run) {
	s := r.submission(Throttles)
	r.expect(r.submit(s), provider.Throttled)
	if n := r.Taken(); n != 0 {
		r.t.Errorf("%d taken", n)
	}
	r.expect(r.submit(s), provider.Accepted)
}

func lostAnswer(r *run) {
	r.expect(r.submit(r.submission(LosesAnswer)), provider.Unknown)
	r.events(1)
	if n := r.Taken(); n != 1 {
		r.t.Errorf("%d taken: nothing may be sent again", n)
	}
}

func cut(r *run) {
	r.expect(r.submit(r.submission(Cuts)), provider.Unknown)
	r.events(1)
	r.ready()
	r.expect(r.submit(r.submission(Accepts)), provider.Accepted)
	if n := r.Taken(); n != 2 {
		r.t.Errorf("%d taken: nothing may be sent again", n)
	}
}

func receiptFirst(r *run) {
	o := r.submit(r.submission(ReportsBefore))
	r.expect(o, provider.Accepted)
	if e := r.sink.events(); len(e) != 1 || !bytes.Equal(e[0].Parsed.ExternalID, o.ExternalID) {
		r.t.Errorf("%d events before the answer", len(e))
	}
}

func deadline(r *run) {
	s := r.submission(Accepts)
	now := time.Now()
	for _, s.Deadline = range []time.Time{now, now.Add(-time.Hour), {}} {
		r.expect(r.submit(s), provider.NotSent)
	}
	r.expect(r.submit(r.submission(Accepts)), provider.Accepted)
	if n := r.Taken(); n != 1 {
		r.t.Errorf("%d taken", n)
	}
}

func validity(r *run) {
	s := r.submission(Accepts)
	for _, s.Validity = range []time.Duration{-1, -time.Hour} {
		r.expect(r.submit(s), provider.NotSent)
	}
	s.Validity = 0
	r.expect(r.submit(s), provider.Accepted)
	if n := r.Taken(); n != 1 {
		r.t.Errorf("%d taken", n)
	}
}

func tooLong(r *run) {
	s := r.submission(Accepts)
	s.Text = strings.Repeat("a", 161)
	r.expect(r.submit(s), provider.Rejected)
	if n := r.Taken(); n != 0 {
		r.t.Errorf("%d taken", n)
	}
}

func afterStop(r *run) {
	r.stop()
	r.expect(r.submit(r.submission(Accepts)), provider.NotSent)
	if r.Provider.Free() != 0 || r.Taken() != 0 {
		r.t.Errorf("free %d, %d taken", r.Provider.Free(), r.Taken())
	}
}

func notTaken(r *run) {
	r.sink.mu.Lock()
	r.sink.refuse = 1
	r.sink.mu.Unlock()
	r.expect(r.submit(r.submission(Accepts)), provider.Accepted)
	got := r.events(1)[0]
	r.sink.mu.Lock()
	defer r.sink.mu.Unlock()
	if len(r.sink.refused) != 1 || !bytes.Equal(r.sink.refused[0].Parsed.ExternalID, got.Parsed.ExternalID) {
		r.t.Errorf("%d refused, not the same", len(r.sink.refused))
	}
}

func inbound(r *run) {
	r.Inbound("STOP {€}")
	if p := r.events(1)[0].Parsed; p.Kind != provider.KindInbound || p.Text != "STOP {€}" || p.Source == "" || p.Dest == "" {
		r.t.Errorf("%+v", p)
	}
}

// once stops while submissions are under way: each has exactly one outcome, and what was definitely sent is
// what the far side took.
func once(r *run) {
	const n = 300
	tallies := make([]*tally, n)
	stopped := make(chan struct{})
	for i := range tallies {
		if i == n/3 {
			go func() { defer close(stopped); r.stop() }()
		}
		for free := r.Provider.Free(); free == 0; free = r.Provider.Free() {
			select {
			case <-r.Provider.Changed():
				continue
			case <-stopped:
			}
			break
		}
		tallies[i] = newTally()
		r.Provider.Submit(r.submission(Accepts), tallies[i].report)
	}
	kinds := map[provider.OutcomeKind]int{}
	for _, t := range tallies {
		kinds[r.wait(t).Kind]++
	}
	<-stopped
	for _, t := range tallies {
		if prompt, late := t.outcomes(); len(prompt) != 1 || len(late) != 0 {
			r.t.Errorf("%d outcomes and %d late ones", len(prompt), len(late))
		}
	}
	if kinds[provider.Accepted] == 0 || kinds[provider.NotSent] == 0 {
		r.t.Errorf("the stop was not in the middle: %v", kinds)
	}
	if taken := r.Taken(); kinds[provider.Accepted] > taken || taken > kinds[provider.Accepted]+kinds[provider.Unknown] {
		r.t.Errorf("%d taken, outcomes %v", taken, kinds)
	}
}

func masked(r *run) {
	for _, b := range []Behaviour{Accepts, Rejects, Throttles, LosesAnswer} {
		s := r.submission(b)
		said := fmt.Sprintf("%+v", r.submit(s))
		if strings.Contains(said, s.Destination[1:]) || strings.Contains(said, s.Text[:8]) {
			r.t.Errorf("an outcome repeats the message")
		}
	}
}
