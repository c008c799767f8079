package storetest

import (
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// jumpTests are about stores that went back in time, or look as if they had.
var jumpTests = map[string]func(*testing.T, Harness){
	"RestoredInDoubt":    testRestoredInDoubt,
	"RestoredReceipt":    testReceiptOfTheRestored,
	"RequeuedParts":      testRequeuedParts,
	"RequeuedInVain":     testRequeuedInVain,
	"MarkFollows":        testMarkFollows,
	"BehindIsHeld":       testBehindIsHeld,
	"Release":            testRelease,
	"CleanFailover":      testCleanFailover,
	"OtherMarks":         testOtherMarks,
	"OtherIncarnation":   testOtherIncarnation,
	"HoldIsEverybodys":   testHoldIsEverybodys,
	"LostCommitIsNoJump": testLostCommitIsNoJump,
}

// A copy that has all that was acknowledged is no jump: traffic goes on by itself, in the same incarnation. That is
// a clean failover, and a move to another server. Nor is a mark a jump that is lower than the store: its node was
// killed between a commit and the mark.
//
// covers: D20, I19
func testCleanFailover(t *testing.T, h Harness) {
	m := &marks{}
	w, first := watched(t, h, h.Open(t), m)
	old := m.left()
	w.attempt(ask{event: "C-1"})
	id := w.taken(ask{event: "C-2"})
	now := m.left() // the store has at least that, and the next second's pulse is none of the copy's
	reopen := h.Copy(t, w.Store)
	for name, marker := range map[string]*marks{"a mark as of now": now, "a mark from before": old, "no mark": {}, "another node's": now.elsewhere()} {
		s := reopen(t)
		found, err := s.Watch(t.Context(), marker)
		must(t, err)
		if found.Behind != "" || found.Held() || found.ID != first.ID {
			t.Errorf("%s: %+v", name, found)
		}
		on := worldAgain(t, h, s)
		if opened := on.open(on.claim(10)); len(opened) != 1 || opened[0].Message != id {
			t.Errorf("%s: these leave: %+v", name, opened)
		}
	}
}

// A node without a mark of its own goes by those of other nodes that it can see; without any it cannot know.
//
// covers: D20
func testOtherMarks(t *testing.T, h Harness) {
	m := &marks{}
	w, _ := watched(t, h, h.Open(t), m)
	w.taken(ask{event: "N-1"})
	reopen := h.Copy(t, w.Store)
	w.attempt(ask{event: "N-2"})
	foreign := m.elsewhere()
	foreign.others[0].Incarnation = ident.NewIncarnation() // of a copy that somebody released for himself
	for name, c := range map[string]struct {
		marker   *marks
		held     bool
		unmarked bool
	}{
		"none": {&marks{}, false, true}, "another node's": {m.elsewhere(), true, true}, "another copy's": {foreign, false, true}, "its own": {m.left(), true, false},
	} {
		found, err := reopen(t).Watch(t.Context(), c.marker)
		must(t, err)
		if found.Held() != c.held || found.Unmarked != c.unmarked {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// A copy from before the last release is noticed, whatever its numbers say, and so is an empty store.
//
// covers: D20
func testOtherIncarnation(t *testing.T, h Harness) {
	m := &marks{}
	w, found := watched(t, h, h.Open(t), m)
	reopen := h.Copy(t, w.Store)
	ctx := t.Context()
	must(t, w.HoldTraffic(ctx, "declared"))
	must(t, w.HoldTraffic(ctx, "again"))
	if now, err := w.Incarnation(ctx); err != nil || !now.Held() || now.Why != "declared" || !w.Held() {
		t.Fatalf("it is not held: %+v, %v", now, err)
	}
	must(t, w.BeginRelease(ctx, store.Release{Person: "ann", Reason: "a test", KeepPending: true}))
	must(t, w.EndRelease(ctx, found.ID))
	w.taken(ask{event: "I-1"})
	eventually(t, "the mark of the new incarnation", func() bool { return m.left().own.Incarnation != found.ID })
	for name, s := range map[string]store.Store{"the copy": reopen(t), "an empty store": h.Open(t)} {
		if other, err := s.Watch(ctx, m.left()); err != nil || !other.Held() || other.Behind == "" {
			t.Errorf("%s: %+v, %v", name, other, err)
		}
	}
}

// Every node learns of a hold and of its end by its own transactions, also one that has nothing to do.
//
// covers: D20, I19
func testHoldIsEverybodys(t *testing.T, h Harness) {
	if h.Again == nil {
		return // one process at a time
	}
	a, found := watched(t, h, h.Open(t), &marks{})
	b, _ := watched(t, h, h.Again(t, a.Store), &marks{})
	ctx := t.Context()
	a.taken(ask{event: "E-1"})
	must(t, a.HoldTraffic(ctx, "declared"))
	if _, err := b.Decide(ctx, []store.Submission{b.submission(ask{event: "E-2"})}, intent.Decide); fault.CodeOf(err) != fault.Unavailable || err == nil {
		t.Errorf("the other node decides: %v", err)
	}
	if claims := b.claim(1); len(claims) != 0 {
		t.Error("the other node claims")
	}
	must(t, b.BeginRelease(ctx, store.Release{Person: "ann", Reason: "a test", KeepPending: true}))
	must(t, b.EndRelease(ctx, found.ID))
	eventually(t, "the first node to go on", func() bool { return !a.Held() && len(a.claim(1)) == 1 })
	must(t, b.HoldTraffic(ctx, "declared"))
	eventually(t, "the first node to learn of it", a.Held)
}

// A commit whose acknowledgement is lost leaves the store with more than the mark. That is no jump.
//
// covers: D20, I19
func testLostCommitIsNoJump(t *testing.T, h Harness) {
	if h.Fragile == nil {
		return
	}
	f := h.Fragile(t)
	m := &marks{}
	w, _ := watched(t, h, f, m)
	w.taken(ask{event: "J-0"})
	f.Arm(true)
	id := w.taken(ask{event: "J-1"})
	if f.Cut() != 1 || w.Held() {
		t.Fatalf("%d commits were broken, held %v", f.Cut(), w.Held())
	}
	w.state(id, message.Pending)
	w.taken(ask{event: "J-2"})
	if found, err := f.Direct.Watch(t.Context(), m.left()); err != nil || found.Held() {
		t.Errorf("the next start finds %+v: %v", found, err)
	}
	<-time.After(2 * markEvery)
}
