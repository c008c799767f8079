package intent

import (
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/clock"
)

// Decide decides one request and leaves in f what the next request of the batch must see.
func Decide(r *Request, f *Facts) Result {
	if res, answered := byIdempotency(r, f); answered {
		return res
	}
	res := byIntent(r, f)
	if res.Kind == Decided && res.Decision.Action != Refused && !r.Idempotency.Key.IsZero() {
		reserveIdempotency(r, f, &res)
	}
	return res
}

// byIdempotency answers from the key that the client chose. Another request under the same key is an error
// before anything else is looked at: the client's mistake must not depend on the first request's progress.
func byIdempotency(r *Request, f *Facts) (Result, bool) {
	a := f.Answered[r.Idempotency.Key]
	if r.Idempotency.Key.IsZero() || a == nil || !a.live(f.Now) {
		return Result{}, false
	}
	if a.Fingerprint.Whole != r.Idempotency.Fingerprint.Whole {
		return Result{Kind: Mismatched, Decision: a.Decision, Differing: a.Fingerprint.Differing(r.Idempotency.Fingerprint)}, true
	}
	return Result{Kind: Replayed, Decision: a.Decision}, true
}

func reserveIdempotency(r *Request, f *Facts, res *Result) {
	ends := IdempotencyBound(f.Now)
	res.Reserve = append(res.Reserve, Reservation{SpaceIdempotency, r.Idempotency.Key, r.Decision, ends})
	f.Answered[r.Idempotency.Key] = &Answered{
		Decision: res.Decision, Fingerprint: r.Idempotency.Fingerprint, Ends: ends,
		MessageFinal: false, // whatever it is: the key is younger than IdempotencyLife
	}
}

// byIntent compares the request with the message that holds its key, if one does. The key of this very text
// comes first, where there is one: its window may run longer than that of the first text's message.
func byIntent(r *Request, f *Facts) Result {
	if u := f.Holders[r.Keys.Unanswered]; !r.Keys.Unanswered.IsZero() && u != nil && f.Now < u.Ends {
		return askedAgain(r, f, match{u, r.Keys.Unanswered, r.Purpose})
	}
	for _, k := range append([]OlderKey{{r.Keys.Variant, r.Purpose}}, r.Keys.OlderVariants...) {
		if v := f.Holders[k.Key]; !k.Key.IsZero() && v != nil && v.Live(f.Now) {
			return repeat(r, f, match{v, k.Key, r.decidedBy(k)}, true)
		}
	}
	held, ended := findHolder(r, f)
	switch {
	case held.Holder == nil && ended.Holder == nil:
		return allow(r, f, NewIntent, ReasonNoEquivalent, match{})
	case held.Holder == nil:
		return allow(r, f, NewIntent, ReasonWindowEnded, ended)
	}
	same := held.Message.TextKey == r.TextKey
	if !same && held.purpose.OnOtherText == policy.OtherTextAllow {
		return allow(r, f, LegitimateRepeat, ReasonOtherText, held)
	}
	return repeat(r, f, held, same)
}

// match is a holder with the key under which it was found, and the purpose that decides about it.
type match struct {
	*Holder
	key     Key
	purpose policy.Purpose
}

// decidedBy is the purpose that decides about what is found under a key: the request's own, which is that of the policy
// in force. Where it is none, an earlier version's still holds (D6).
func (r *Request) decidedBy(k OlderKey) policy.Purpose {
	if r.Purpose.Unnamed {
		return k.Purpose
	}
	return r.Purpose
}

// findHolder returns the holder whose window is open, under the current key or one of an older policy version;
// else ended is one whose window is over, where there is one.
func findHolder(r *Request, f *Facts) (held, ended match) {
	for _, k := range append([]OlderKey{{r.Keys.Intent, r.Purpose}}, r.Keys.Older...) {
		h := f.Holders[k.Key]
		if h == nil {
			continue
		}
		found := match{h, k.Key, r.decidedBy(k)}
		if h.Live(f.Now) {
			return found, match{}
		}
		if ended.Holder == nil { // the nearest: the current key comes first
			ended = found
		}
	}
	return match{}, ended
}

// allow makes the message's facts and reserves its keys. The compared message is given where there is one.
func allow(r *Request, f *Facts, class Class, reason Reason, compared match) Result {
	d := begin(r, f, r.Purpose, Allow, class, reason)
	if compared.Holder != nil {
		same := compared.Message.TextKey == r.TextKey
		d.SameText = &same
		d.compare(r, compared)
	}
	asked, refusal := r.judge(f)
	if refusal != nil {
		d.Explanation = explainAllow(r.supposed(), reason, compared, f.Now)
		return refuse(d, r, asked, refusal)
	}
	d.Message, d.Guards = Snapshot{ID: r.Message, Connection: r.Connection, State: message.Pending}, asked
	d.WindowEnds = WindowBound(r.Purpose.Window, f.Now)
	d.Explanation = explainAllow(r, reason, compared, f.Now)
	return admit(r, f, d)
}

// admit reserves the keys of a message that is made.
func admit(r *Request, f *Facts, d Decision) Result {
	h := &Holder{Ends: d.WindowEnds, Message: MessageFacts{
		ID: r.Message, Connection: r.Connection, State: message.Pending, Since: f.Now, TextKey: r.TextKey,
		EventBound: r.Purpose.Window.EventBound(),
	}}
	res := Result{Kind: Decided, Decision: d}
	res.pay(r, f)
	if d.Reason != ReasonOtherText || r.Purpose.Unnamed { // whose key is of this text
		res.hold(f, r.Keys.Intent, h)
	}
	if !r.Keys.Variant.IsZero() {
		res.hold(f, r.Keys.Variant, h)
	}
	res.awaitAnswer(r, f)
	return res
}

func (res *Result) hold(f *Facts, k Key, h *Holder) {
	f.Holders[k] = h
	delete(f.Repeats, k)
	res.Reserve = append(res.Reserve, Reservation{SpaceIntent, k, h.Message.ID, h.Ends})
}

// repeat decides about a request for which there is a message: it answers with that message, or lets the request
// through where the purpose that decides is monitored.
func repeat(r *Request, f *Facts, held match, sameText bool) Result {
	if held.purpose.Mode != policy.Monitor {
		res := Result{Kind: Decided, Decision: suppress(r, f, held, sameText, false)}
		f.repeat(held.key, r, &res)
		return res
	}
	asked, refusal := r.judge(f) // what is only monitored is deduplication (X3)
	if refusal != nil {
		return refuse(suppress(r.supposed(), f, held, sameText, false), r, asked, refusal)
	}
	res := Result{Kind: Decided, Decision: suppress(r, f, held, sameText, true)}
	res.Decision.letThrough(r)
	res.Decision.Guards = asked
	res.pay(r, f)
	res.awaitAnswer(r, f)
	return res
}

// suppress answers with the message that exists. sent says that the request is let through all the same.
func suppress(r *Request, f *Facts, held match, sameText, sent bool) Decision {
	m := held.Message
	class, reason := TechnicalDuplicate, sameIntent(m.State)
	if failed(m.State) {
		class, reason = ControlledRetry, ReasonRetryNotPermitted
	}
	d := begin(r, f, held.purpose, Suppress, class, reason)
	d.Message = Snapshot{ID: m.ID, Connection: m.Connection, State: m.State, Delivery: m.Delivery, Attempts: m.Attempts}
	d.SameText = &sameText
	d.compare(r, held)
	if f.Now < held.Ends {
		d.WindowEnds = held.Ends
	}
	d.Explanation = explainRepeat(r, held, sameText, sent, f.Now)
	return d
}

// letThrough makes the request a message all the same. It takes no key: the first message stays the holder, whose
// window neither ends nor begins again by what is only monitored (D6). That it was let through is recorded, and is
// the authorisation by which one intent may have this further message (I2). Storms are not counted: each of these
// repeats is a message, which has a decision of its own (I11).
func (d *Decision) letThrough(r *Request) {
	d.Would, d.Action = d.Action, Allow
	d.Message = Snapshot{ID: r.Message, Connection: r.Connection, State: message.Pending}
}

func begin(r *Request, f *Facts, p policy.Purpose, a Action, c Class, why Reason) Decision {
	return Decision{
		ID: r.Decision, At: f.Now, Action: a, Class: c, Reason: why, Mode: p.Mode,
		Rule: p.Name + ".window", PolicyID: r.PolicyID, MappedBy: r.MappedBy, Text: r.Text,
	}
}

// compare records what the request was compared with, and under which key it was found.
func (d *Decision) compare(r *Request, with match) {
	d.Compared, d.PreviousState = with.Message.ID, with.Message.State
	if with.key != r.Keys.Intent {
		d.MatchedKey = with.key
	}
}

// failed reports the ends after which a repeat is a retry and not a duplicate.
func failed(s message.State) bool {
	switch s {
	case message.Undelivered, message.Rejected, message.Failed, message.Expired:
		return true
	}
	return false
}

// WindowBound is the moment at which a window that begins now ends by the clock alone. It is a whole second,
// rounded up, so that the store can guess it before its locks are held and be right nearly always.
func WindowBound(w policy.Window, now clock.Micros) clock.Micros {
	if w.EventBound() {
		return wholeSecond(now.Add(w.AtMost))
	}
	return wholeSecond(now.Add(w.Duration))
}

// IdempotencyBound is the moment until which a key that is taken now is valid at least.
func IdempotencyBound(now clock.Micros) clock.Micros { return wholeSecond(now.Add(IdempotencyLife)) }

func wholeSecond(m clock.Micros) clock.Micros {
	const second = clock.Micros(1_000_000)
	return (m + second - 1) / second * second
}
