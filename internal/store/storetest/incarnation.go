package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// The mark follows what was acknowledged, and covers an attempt before its bytes may leave. A transaction that
// changes nothing has no number.
//
// covers: D20
func testMarkFollows(t *testing.T, h Harness) {
	m := &marks{}
	w, found := watched(t, h, h.Open(t), m)
	if !found.Unmarked || found.Behind != "" || found.Held() || found.N != 1 || m.left().own == nil {
		t.Fatalf("the first start finds %+v and leaves the mark %+v", found, m.left().own)
	}
	w.taken(ask{event: "M-1"})
	claims := w.claim(1)
	before := m.sum()
	opened := w.open(claims)
	if after := m.sum(); len(opened) != 1 || after <= before {
		t.Errorf("the mark was at %d and is at %d when %d attempts may leave", before, after, len(opened))
	}
	at := m.sum()
	for range 3 {
		w.claim(1) // nothing is due
	}
	w.open(nil)
	if now := m.sum(); now != at {
		t.Errorf("claims of nothing moved the mark from %d to %d", at, now)
	}
	m.set(errNoRoom)
	w.taken(ask{event: "M-2"})
	eventually(t, "claims to wait for the mark", func() bool {
		claims, err := w.Claim(t.Context(), w.claimSpec(1))
		return len(claims.Taken) == 0 && err != nil && fault.CodeOf(err) == fault.Unavailable
	})
	w.taken(ask{event: "M-3"})
	m.set(nil)
	eventually(t, "claims to go on", func() bool {
		claims, err := w.Claim(t.Context(), w.claimSpec(1))
		return len(claims.Taken) == 1 && err == nil
	})
}

// eventually polls: the mark is written by a goroutine of the store's own.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain for " + what)
		}
	}
}

// gap is a store of which a copy was taken before a message that waited was sent.
type gap struct {
	m      *marks
	waits  ident.Message
	open   store.Opened // an attempt that was under way when the copy was taken
	missed store.Opened // the attempt at the waiting message, of which the copy does not know
	copied store.Store
}

func newGap(t *testing.T, h Harness) *gap {
	t.Helper()
	m := &marks{}
	g := &gap{}
	w, _ := watched(t, h, h.Open(t), m)
	g.open = w.attempt(ask{event: "G-open"})
	g.waits = w.taken(ask{event: "G-waits", to: 5})
	reopen := h.Copy(t, w.Store)
	g.missed = w.open(w.claim(1))[0]
	w.settle(w.outcome(g.missed, message.OutcomeAccepted, "in-the-gap"))
	g.m = m.left()
	g.copied = reopen(t)
	return g
}

// A store that is behind its mark is held: nothing is decided, claimed, taken back or expired. Evidence counts, also
// about an attempt that the store does not remember.
//
// covers: D20, I19
func testBehindIsHeld(t *testing.T, h Harness) {
	g := newGap(t, h)
	w, found := watched(t, h, g.copied, g.m)
	if found.Behind == "" || !found.Held() || found.Unmarked || !w.Held() {
		t.Fatalf("the copy is not noticed: %+v", found)
	}
	ctx := t.Context()
	at := g.m.sum()
	if _, err := w.Decide(ctx, []store.Submission{w.submission(ask{event: "G-new"})}, intent.Decide); fault.CodeOf(err) != fault.Unavailable || err == nil {
		t.Errorf("a request is decided: %v", err)
	}
	if r, err := w.Preview(ctx, w.submission(ask{event: "G-waits", to: 5}), intent.Decide); err != nil || r.Decision.Message.ID != g.waits || r.Decision.Message.State != message.Unknown || r.Decision.Reason != "same_intent_unknown" {
		t.Errorf("a preview of what waits in the copy says %s about a message that is %s: %v", r.Decision.Reason, r.Decision.Message.State, err)
	}
	if claims := w.claim(10); len(claims) != 0 {
		t.Errorf("%d messages are claimed", len(claims))
	}
	for _, kind := range []evidence.Kind{evidence.Cancel, evidence.ValidityEnded, evidence.LeaseEnded, evidence.Requeued} {
		if s := w.settle(about(g.waits, evidence.Evidence{Kind: kind}))[0]; fault.CodeOf(s.Err) != fault.Unavailable || s.Err == nil {
			t.Errorf("evidence of kind %d is taken: %v", kind, s.Err)
		}
	}
	w.state(g.waits, message.Pending)
	w.settle(w.outcome(g.open, message.OutcomeAccepted, "known"))
	w.state(g.open.Message, message.Accepted)
	must(t, w.settle(w.outcome(g.missed, message.OutcomeAccepted, "in-the-gap"))[0].Err)
	if got := w.state(g.waits, message.Accepted); string(got.Attempts[0].ExternalID) != "in-the-gap" {
		t.Errorf("the late answer is stored as %+v", got.Attempts[0])
	}
	w.settle(w.receipt("in-the-gap", -1, "delivered", 5))
	w.state(g.waits, message.Delivered)
	if n, err := w.Sequence(ctx, 100); n != 0 || err != nil {
		t.Errorf("%d events are numbered while the store is held: %v", n, err)
	}
	<-time.After(3 * markEvery)
	if now := g.m.sum(); now != at {
		t.Errorf("the mark moved from %d to %d while the store is held", at, now)
	}
}

// markEvery is how often a store looks whether its mark has to follow.
const markEvery = 100 * time.Millisecond

// Released, the store goes on in a new incarnation: what was in doubt is unknown and not sent again, and the next
// start finds nothing wrong. The feed goes on under numbers that nobody has seen.
//
// covers: D20, I19
func testRelease(t *testing.T, h Harness) {
	g := newGap(t, h)
	w, found := watched(t, h, g.copied, g.m)
	ctx := t.Context()
	doubted := w.unfinished()
	if len(doubted) != 2 || doubted[0].State != message.Sending || !doubted[0].Open || doubted[1].Message != g.waits || doubted[1].Open {
		t.Fatalf("not finished are %+v", doubted)
	}
	for most := range 3 {
		if waiting, sending, err := w.CountUnfinished(ctx, most); err != nil || waiting != min(most, 1) || sending != min(most, 1) {
			t.Errorf("at most %d of each: %d wait and %d are being sent: %v", most, waiting, sending, err)
		}
	}
	if err := w.EndRelease(ctx, found.ID); fault.CodeOf(err) != fault.State || err == nil {
		t.Errorf("released though nobody asked for it: %v", err)
	}
	r := store.Release{AsOf: 5, Person: "ann", Reason: "disk"}
	must(t, w.BeginRelease(ctx, r))
	must(t, w.BeginRelease(ctx, r)) // the answer was lost
	if err := w.BeginRelease(ctx, store.Release{Person: "bob"}); fault.CodeOf(err) != fault.State || err == nil || !strings.Contains(err.Error(), "ann") {
		t.Errorf("another release beside the first: %v", err)
	}
	for _, u := range doubted {
		must(t, w.settle(restored(u.Message))[0].Err)
	}
	now, err := w.Incarnation(ctx)
	must(t, err)
	if now.ID != found.ID || now.Release == nil || now.Release.Reason != "disk" || now.Release.AsOf != 5 || now.Release.At == 0 {
		t.Errorf("the incarnation is %+v", now)
	}
	must(t, w.EndRelease(ctx, found.ID))
	must(t, w.EndRelease(ctx, found.ID)) // another node was as fast
	if now, err = w.Incarnation(ctx); err != nil || now.N != 2 || now.Held() || now.Release != nil || now.BegunAt == 0 || w.Held() {
		t.Errorf("after the release: %+v, %v", now, err)
	}
	if err := w.BeginRelease(ctx, r); fault.CodeOf(err) != fault.State || err == nil {
		t.Errorf("a store that is not held is released: %v", err)
	}
	w.state(g.waits, message.Unknown)
	if waiting, sending, err := w.CountUnfinished(ctx, 10); err != nil || waiting+sending != 0 {
		t.Errorf("after the release %d wait and %d are being sent: %v", waiting, sending, err)
	}
	if claims := w.claim(10); len(claims) != 0 {
		t.Errorf("%d messages in doubt are claimed", len(claims))
	}
	fresh := w.taken(ask{event: "G-after"})
	if opened := w.open(w.claim(10)); len(opened) != 1 || opened[0].Message != fresh {
		t.Errorf("after the release these leave: %+v", opened)
	}
	if g.m.left().own.Incarnation != now.ID {
		t.Error("the mark is not of the new incarnation")
	}
	_, err = w.Sequence(ctx, 100)
	must(t, err)
	feed, err := w.After(ctx, w.tenant, 1<<40, 100)
	must(t, err)
	if len(feed) < 3 || feed[0].Seq != 1<<40+1 { // two messages in doubt, a new one, and what had no number before
		t.Errorf("the feed goes on with %+v", feed)
	}
	left := g.m.left()
	if again, err := h.Copy(t, w.Store)(t).Watch(ctx, left); err != nil || again.Behind != "" || again.Held() {
		t.Errorf("the next start finds %+v: %v", again, err)
	}
}

// unfinished reads the whole list, a page of one each.
func (w *world) unfinished() (all []store.Unfinished) {
	w.t.Helper()
	var at store.Cursor
	for {
		page, next, err := w.Unfinished(w.t.Context(), at, 1)
		must(w.t, err)
		all = append(all, page...)
		if at = next; at == (store.Cursor{}) {
			return all
		}
	}
}
