package intent

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"pgregory.net/rapid"
)

// same reports whether two requests are one intent: for a purpose that makes every text a version of its own,
// with the same text.
func same(a, b *Request) bool {
	return a.Keys.Intent == b.Keys.Intent && (a.Purpose.OnOtherText == policy.OtherTextSuppress || a.TextKey == b.TextKey)
}

// Whatever happens in between, an identical request inside the window is never allowed twice, and one that is
// suppressed names a message of the same intent whose window is open: neither is anybody texted twice nor is
// anything swallowed that was meant.
//
// covers: D3, D4, D6, D7, D17
func TestOneIntentOneMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		t.Repeat(map[string]func(*rapid.T){
			"batch": func(t *rapid.T) {
				for _, r := range rapid.SliceOfN(requests(), 1, 4).Draw(t, "batch") {
					open := slices.DeleteFunc(slices.Clone(w.sent), func(s *sent) bool { return !s.inside(w.now) })
					res := w.decide(r)[0]
					check(t, r, res, open)
				}
			},
			"wait": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "minutes")) * time.Minute)
			},
			"attempt": func(t *rapid.T) {
				if s := some(t, w); s != nil {
					w.attempt(s)
				}
			},
			"end": func(t *rapid.T) {
				if s := some(t, w); s != nil {
					w.end(s, rapid.SampledFrom([]message.State{message.Delivered, message.Undelivered, message.Rejected, message.Cancelled}).Draw(t, "state"))
				}
			},
		})
	})
}

// some draws a message that is not final.
func some(t *rapid.T, w *world) *sent {
	live := slices.DeleteFunc(slices.Clone(w.sent), func(s *sent) bool { return s.facts.Final })
	if len(live) == 0 {
		return nil
	}
	return rapid.SampledFrom(live).Draw(t, "message")
}

// check compares a result with the messages whose windows were open when it was taken.
func check(t *rapid.T, r *Request, res Result, open []*sent) {
	if res.Kind != Decided {
		return // of the idempotency key alone
	}
	twin := slices.IndexFunc(open, func(s *sent) bool { return same(s.request, r) })
	switch {
	case res.Decision.Action == Allow && twin >= 0:
		t.Fatalf("a second message for one intent: %s after %s (%s)", r.Message, open[twin].facts.ID, open[twin].facts.State)
	case res.Decision.Action == Suppress && twin < 0:
		t.Fatalf("suppressed for %s, although no window is open", res.Decision.Message.ID)
	case res.Decision.Action == Suppress:
		named := slices.IndexFunc(open, func(s *sent) bool { return s.facts.ID == res.Decision.Message.ID })
		if named < 0 || !same(open[named].request, r) {
			t.Fatalf("suppressed for %s, which is another intent or outside its window", res.Decision.Message.ID)
		}
		if *res.Decision.SameText != (open[named].request.TextKey == r.TextKey) {
			t.Fatalf("same_text is %v", *res.Decision.SameText)
		}
	}
}

// covers: D1, D3
func TestAnyOtherKeyPartIsAnotherIntent(t *testing.T) {
	all := []policy.KeyPart{policy.KeyEventType, policy.KeyEventID, policy.KeyEventVersion, policy.KeySender, policy.KeyTemplateID, policy.KeyTemplateVersion, policy.KeyCorrelationID}
	whole := policy.Purpose{Name: "all", Key: all, Window: policy.Window{Duration: time.Hour}, OnOtherText: policy.OtherTextSuppress}
	base := Request{Tenant: 1, Purpose: whole, To: number("+12025550143"), Event: Event{"t", "i", "v"}, Sender: "s", Template: Template{"i", "v"}, CorrelationID: "c"}
	for name, change := range map[string]func(*Request){
		"tenant": func(r *Request) { r.Tenant = 2 }, "purpose": func(r *Request) { r.Purpose.Name = "other" },
		"destination": func(r *Request) { r.To = number("+12025550144") },
		"event type":  func(r *Request) { r.Event.Type = "x" }, "event id": func(r *Request) { r.Event.ID = "x" },
		"event version": func(r *Request) { r.Event.Version = "x" }, "sender": func(r *Request) { r.Sender = "x" },
		"template id": func(r *Request) { r.Template.ID = "x" }, "template version": func(r *Request) { r.Template.Version = "x" },
		"correlation id": func(r *Request) { r.CorrelationID = "x" },
	} {
		t.Run(name, func(t *testing.T) {
			first, other, again := base, base, base
			change(&other)
			got := newWorld().decide(seal(&first, "text"), seal(&other, "text"), seal(&again, "text"))
			if got[1].Decision.Action != Allow || got[1].Decision.Class != NewIntent {
				t.Errorf("the other one: %s %s", got[1].Decision.Action, got[1].Decision.Class)
			}
			if got[2].Decision.Action != Suppress || got[2].Decision.Message.ID != first.Message {
				t.Errorf("the first one again: %s %s", got[2].Decision.Action, got[2].Decision.Message.ID)
			}
		})
	}
}

// A policy that asks for other parts does not open windows that run.
//
// covers: D6
func TestOlderKeys(t *testing.T) {
	w := newWorld()
	r := &Request{Tenant: 1, Purpose: purposes[0], To: number("+12025550143"), Event: Event{ID: "a", Version: "1"}, Sender: "s"}
	w.decide(seal(r, "text"))
	again := *r
	again.Purpose.Key = []policy.KeyPart{policy.KeyEventID}
	seal(&again, "text").Keys.Older = []OlderKey{{Key: r.Keys.Intent}}
	if got := w.decide(&again)[0].Decision; got.Action != Suppress || got.Message.ID != r.Message {
		t.Errorf("under another policy: %s %s", got.Action, got.Reason)
	}
	w.end(w.sent[0], message.Rejected)
	if got := w.decide(&again)[0].Decision; got.Action != Allow || got.Reason != ReasonWindowEnded {
		t.Errorf("after the window: %s %s", got.Action, got.Reason)
	}
}

func TestMissingParts(t *testing.T) {
	p := policy.Purpose{Key: []policy.KeyPart{policy.KeyEventType, policy.KeyEventID, policy.KeySender, policy.KeyTemplateID, policy.KeyTemplateVersion}}
	r := &Request{Event: Event{ID: "a"}, Template: Template{Version: "1"}}
	if got := Missing(p, r); !slices.Equal(got, []policy.KeyPart{policy.KeyEventType, policy.KeySender, policy.KeyTemplateID}) {
		t.Errorf("missing are %v", got)
	}
}

// The spellings are in databases, answers and metrics.
func TestSpellings(t *testing.T) {
	r := &Request{Tenant: 1, Purpose: purposes[2], To: number("+12025550143"), Event: Event{ID: "a", Version: "1"}}
	w := newWorld()
	var got []string
	say := func(text string) {
		one := *r
		d := w.decide(seal(&one, text))[0].Decision
		got = append(got, d.Action.String()+" "+d.Class.String()+" "+string(d.Reason))
	}
	say("one")
	say("one")
	say("two")
	w.end(w.sent[0], message.Delivered)
	say("one")
	r.Purpose, r.Sender = purposes[1], "s"
	say("one")
	w.end(w.sent[len(w.sent)-1], message.Undelivered)
	say("one")
	want := []string{
		"allow new_intent no_equivalent", "suppress technical_duplicate same_intent_pending",
		"allow legitimate_repeat other_text_is_a_version", "allow new_intent window_ended",
		"allow new_intent no_equivalent", "suppress controlled_retry retry_not_permitted",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// What a purpose does not name in its key makes no new intent (D1), nor does the order in which it names parts.
func TestWhatIsNotInTheKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := requests().Draw(t, "request")
		other := *r
		other.Purpose.Key = rapid.Permutation(r.Purpose.Key).Draw(t, "order")
		other.Template, other.Event.Type = Template{"x", "y"}, "y"
		if seal(&other, texts[0]); other.Keys.Intent != r.Keys.Intent {
			t.Fatal("another key")
		}
	})
}

// No two lists of values make the same form, wherever their bytes are cut.
func TestFormsAreUnambiguous(t *testing.T) {
	p := policy.Purpose{Name: "p", Key: []policy.KeyPart{policy.KeyEventID, policy.KeyEventVersion, policy.KeySender}}
	rapid.Check(t, func(t *rapid.T) {
		one, other := &Request{Tenant: 1}, &Request{Tenant: 1}
		for _, r := range []*Request{one, other} {
			part := rapid.StringOfN(rapid.SampledFrom([]rune{'a', 0, 1}), 0, 3, -1)
			r.Event.ID, r.Event.Version, r.Sender = part.Draw(t, "id"), part.Draw(t, "version"), part.Draw(t, "sender")
		}
		equal := one.Event == other.Event && one.Sender == other.Sender
		if (string(KeyForm(p, one)) == string(KeyForm(p, other))) != equal {
			t.Fatalf("%+v and %+v", one, other)
		}
	})
}

// A batch gives what its requests give one by one.
//
// covers: D7
func TestABatchIsItsRequestsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(requests(), 1, 12).Draw(t, "requests")
		together := newWorld().decide(all...)
		single := newWorld()
		for i, r := range all {
			if got := single.decide(r)[0]; !reflect.DeepEqual(got, together[i]) {
				t.Fatalf("request %d: %+v in the batch, %+v alone", i, together[i], got)
			}
		}
	})
}

// Requests that share no key do not see each other's order.
func TestOrderOfUnrelatedRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfNDistinct(requests(), 1, 6, func(r *Request) Key { return r.Keys.Intent }).Draw(t, "requests")
		for _, r := range all {
			r.Idempotency = Idempotency{}
		}
		mixed := rapid.Permutation(all).Draw(t, "mixed")
		first, second := newWorld().decide(all...), newWorld().decide(mixed...)
		for i, r := range all {
			if got := second[slices.Index(mixed, r)]; !reflect.DeepEqual(got, first[i]) {
				t.Fatalf("request %d: %+v or %+v, by the order", i, first[i], got)
			}
		}
	})
}

// The idempotency key comes before everything: a replay gives the first decision to the letter, another request
// under the key is an error, and neither reserves anything.
//
// covers: D8
func TestTheIdempotencyKeyDecidesFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.decide(rapid.SliceOfN(requests(), 0, 4).Draw(t, "before")...)
		first := keyed(requests().Draw(t, "first"), "fresh", "A")
		want := w.decide(first)[0]
		for range rapid.IntRange(0, 3).Draw(t, "later") {
			w.now = w.now.Add(5 * time.Hour)
		}
		w.decide(rapid.SliceOfN(requests(), 0, 4).Draw(t, "between")...)
		again := keyed(requests().Draw(t, "again"), "fresh", "A")
		if got := w.decide(again)[0]; got.Kind != Replayed || len(got.Reserve) > 0 || !reflect.DeepEqual(got.Decision, want.Decision) {
			t.Fatalf("the same request again: %+v, first %+v", got, want)
		}
		other := keyed(requests().Draw(t, "other"), "fresh", "B")
		if got := w.decide(other)[0]; got.Kind != Mismatched || len(got.Reserve) > 0 || !slices.Equal(got.Differing, []string{"text"}) {
			t.Fatalf("another request: %+v", got)
		}
	})
}

func keyed(r *Request, key, as string) *Request {
	r.Idempotency = Idempotency{Key: hashed([]byte(key)), Fingerprint: TakeFingerprint(hashed, map[string][]byte{"text": []byte(as)})}
	return r
}

// A key answers until it is 24 hours old and its message final, whichever is later.
//
// covers: D8
func TestHowLongAnIdempotencyKeyAnswers(t *testing.T) {
	for _, c := range []struct {
		final bool
		after time.Duration
		want  Kind
	}{
		{true, IdempotencyLife - time.Second, Replayed}, {true, IdempotencyLife + time.Second, Decided},
		{false, 10 * IdempotencyLife, Replayed},
	} {
		w := newWorld()
		r := &Request{Tenant: 1, Purpose: purposes[1], To: number("+12025550143"), Event: Event{ID: "a"}}
		w.decide(keyed(seal(r, "text"), "k", "A"))
		if c.final {
			w.end(w.sent[0], message.Delivered)
		}
		w.now = w.now.Add(c.after)
		again := *r
		if got := w.decide(seal(&again, "text"))[0]; got.Kind != c.want {
			t.Errorf("final %v, after %s: kind %d, want %d", c.final, c.after, got.Kind, c.want)
		}
	}
}

// Recall is the idempotency key's answer alone.
func TestRecallLeavesTheFactsAlone(t *testing.T) {
	w := newWorld()
	r := keyed(seal(&Request{Tenant: 1, Purpose: purposes[1], To: number("+12025550143"), Event: Event{ID: "a"}}, "text"), "k", "A")
	want := w.decide(r)[0].Decision
	f := &Facts{Now: w.now, Answered: w.answered, Holders: map[Key]*Holder{}}
	f.Answered[r.Idempotency.Key].Decision = want
	if res, ok := Recall(r, f); !ok || res.Kind != Replayed || res.Decision.ID != want.ID {
		t.Errorf("a held key: %+v", res)
	}
	if res, ok := Recall(keyed(r, "other", "A"), f); ok || len(f.Answered) != 1 || len(f.Holders) > 0 || len(res.Reserve) > 0 {
		t.Errorf("a free key: %+v", res)
	}
}
