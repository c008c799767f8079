package intent

import (
	"crypto/sha256"
	"slices"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/phone"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"pgregory.net/rapid"
)

// world is a store as small as it can be: registers, and the messages behind them.
type world struct {
	now      clock.Micros
	holders  map[Key]*Holder
	answered map[Key]*Answered
	sent     []*sent
}

// sent is a message that was allowed, with its window as a person would work it out.
type sent struct {
	request  *Request
	facts    *MessageFacts
	ends     clock.Micros
	attempts bool // one is open
	over     bool // its window had ended when the same was allowed again: it stays so, whatever is sent late
}

func newWorld() *world {
	return &world{now: 1_000_000_000_000, holders: map[Key]*Holder{}, answered: map[Key]*Answered{}}
}

// decide runs a batch in one transaction.
func (w *world) decide(batch ...*Request) []Result {
	f := &Facts{Now: w.now, Holders: map[Key]*Holder{}, Answered: map[Key]*Answered{}}
	for k, h := range w.holders {
		one := *h
		f.Holders[k] = &one
	}
	for k, a := range w.answered {
		one := *a
		one.MessageFinal = w.message(a.Decision.Message.ID).facts.Final
		f.Answered[k] = &one
	}
	out := make([]Result, len(batch))
	for i, r := range batch {
		out[i] = Decide(r, f)
		w.write(r, out[i])
	}
	return out
}

// write does what a store does with a result: the last one that reserves a key holds it.
func (w *world) write(r *Request, res Result) {
	if res.Kind == Decided && res.Decision.Action == Allow {
		for _, s := range w.sent {
			s.over = s.over || same(s.request, r)
		}
		w.sent = append(w.sent, &sent{
			request: r, ends: res.Decision.WindowEnds,
			facts: &MessageFacts{ID: r.Message, State: message.Pending, Since: w.now, TextKey: r.TextKey, EventBound: r.Purpose.Window.EventBound()},
		})
	}
	for _, k := range res.Reserve {
		switch k.Space {
		case SpaceIdempotency:
			w.answered[k.Key] = &Answered{Decision: res.Decision, Fingerprint: r.Idempotency.Fingerprint, Ends: k.Ends}
		case SpaceIntent:
			w.holders[k.Key] = &Holder{Message: *w.message(ident.Message(k.Owner)).facts, Ends: k.Ends}
		}
	}
}

func (w *world) message(id ident.Message) *sent {
	i := slices.IndexFunc(w.sent, func(s *sent) bool { return s.facts.ID == id })
	return w.sent[i]
}

// end takes a message to a final state, and closes its keys if its window is bound to others.
func (w *world) end(s *sent, state message.State) {
	s.facts.State, s.facts.Since, s.facts.Final, s.attempts = state, w.now, true, false
	if s.facts.EventBound && !slices.Contains(s.request.Purpose.Window.While, state) {
		s.ends = min(s.ends, w.now)
	}
	w.spread(s)
}

func (w *world) attempt(s *sent) {
	s.facts.State, s.facts.Since, s.attempts = message.Sending, w.now, true
	w.spread(s)
}

// spread shows a message's facts wherever it holds a key.
func (w *world) spread(s *sent) {
	s.facts.AttemptOpen = s.attempts
	for _, h := range w.holders {
		if h.Message.ID == s.facts.ID {
			h.Message, h.Ends = *s.facts, s.ends
		}
	}
}

// inside reports whether the message's window is open (D6).
func (s *sent) inside(now clock.Micros) bool {
	open := !s.facts.Final
	if s.facts.EventBound {
		open = s.attempts
	}
	return !s.over && (open || now < s.ends)
}

func hashed(form []byte) Key {
	sum := sha256.Sum256(form)
	return Key(sum[:16])
}

func number(n string) phone.Number {
	got, err := phone.Parse(n, "")
	if err != nil {
		panic(err)
	}
	return got
}

// Purposes of each form that a policy can have.
var purposes = []policy.Purpose{
	{Name: "order", Kind: policy.KindConfirmation, Key: []policy.KeyPart{policy.KeyEventID, policy.KeyEventVersion, policy.KeySender},
		Window: policy.Window{While: []message.State{message.Delivered}, AtMost: time.Hour}, OnOtherText: policy.OtherTextSuppress},
	{Name: "alert", Kind: policy.KindAlert, Key: []policy.KeyPart{policy.KeyEventID},
		Window: policy.Window{Duration: 15 * time.Minute}, OnOtherText: policy.OtherTextSuppress},
	{Name: "code", Kind: policy.KindAuthentication, Key: []policy.KeyPart{policy.KeyEventID, policy.KeyEventVersion},
		Window: policy.Window{AtMost: 10 * time.Minute}, OnOtherText: policy.OtherTextAllow},
	{Name: "pin", Kind: policy.KindAuthentication, Key: []policy.KeyPart{policy.KeyCorrelationID},
		Window: policy.Window{Duration: 10 * time.Minute}, OnOtherText: policy.OtherTextAllow},
}

// seal gives a request its ids and keys.
func seal(r *Request, text string) *Request {
	r.Decision, r.Message = newID[ident.Decision](), newID[ident.Message]()
	r.TextKey = hashed(TextForm(r, text))
	r.Keys.Intent = hashed(KeyForm(r.Purpose, r))
	r.Keys.Variant = Key{}
	if r.Purpose.OnOtherText == policy.OtherTextAllow {
		r.Keys.Variant = hashed(VariantForm(r.Keys.Intent, r.TextKey))
	}
	return r
}

// newID makes an id of any kind.
func newID[T ~[16]byte]() T {
	var m ident.Message
	fresh(&m)
	return T(m)
}

func fresh[K ident.Kind](id *ident.ID[K]) { *id = ident.New[K](1) }

var texts = []string{"one", "two"}

// requests draws from few values, so that equal ones meet.
func requests() *rapid.Generator[*Request] {
	small := func(t *rapid.T, name string) string { return rapid.SampledFrom([]string{"a", "b"}).Draw(t, name) }
	return rapid.Custom(func(t *rapid.T) *Request {
		r := &Request{
			Tenant: 1, PolicyID: "test@1", Purpose: rapid.SampledFrom(purposes).Draw(t, "purpose"),
			To:    number("+12025550143"),
			Event: Event{Type: "x", ID: small(t, "event"), Version: small(t, "version")}, Sender: small(t, "sender"),
			CorrelationID: small(t, "correlation"), ValidFor: time.Hour,
		}
		text := rapid.SampledFrom(texts).Draw(t, "text")
		if key := rapid.SampledFrom([]string{"", "", "k1", "k2"}).Draw(t, "key"); key != "" {
			r.Idempotency = Idempotency{
				Key:         hashed(IdempotencyForm(1, "submit", key)),
				Fingerprint: TakeFingerprint(hashed, map[string][]byte{"purpose": []byte(r.Purpose.Name), "text": []byte(text), "sender": []byte(r.Sender), "event": []byte(r.Event.ID + r.Event.Version), "correlation_id": []byte(r.CorrelationID)}),
			}
		}
		return seal(r, text)
	})
}
