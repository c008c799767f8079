package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// covers: R15
func testClaimAndOpen(t *testing.T, h Harness) {
	w := newWorld(t, h)
	for i := range 3 {
		w.taken(ask{event: "O", version: string(rune('1' + i)), to: 10})
	}
	two, rest, none := w.claim(2), w.claim(9), w.claim(9)
	if len(two) != 2 || len(rest) != 1 || len(none) != 0 {
		t.Fatalf("claims of %d, %d and %d messages, want 2, 1 and 0", len(two), len(rest), len(none))
	}
	spec := w.openSpec()
	spec.Addressing = func(source, dest string) (string, string) { return "5/0 " + source, "1/1 " + dest[1:] }
	opened, err := w.OpenAttempts(context.Background(), spec, two)
	must(t, err)
	if len(opened) != 2 || opened[0].Reference < 0 || opened[0].Reference == opened[1].Reference {
		t.Fatalf("opened: %+v", opened)
	}
	if string(opened[0].Content) != "sealed" || opened[0].Sender != "SHOP" || opened[0].Destination != number(10) || opened[0].Attempt != 1 {
		t.Errorf("an attempt lacks what it sends: %+v", opened[0])
	}
	m := w.state(opened[0].Message, message.Sending)
	a := m.Attempts[0]
	if a.Outcome != message.OutcomeOpen || a.Node != w.node || a.OpenedAt == 0 || !a.Receipt || a.Connection != w.conn ||
		a.SourceSent != "5/0 SHOP" || a.DestinationSent != "1/1 12025550110" {
		t.Errorf("the stored attempt is %+v", a)
	}
}

// covers: I9
func testFenceAndLease(t *testing.T, h Harness) {
	w := newWorld(t, h)
	id := w.taken(ask{event: "F", version: "1", to: 11})
	stale := w.claim(1)
	w.advance(3 * time.Second)
	if opened := w.open(stale); len(opened) != 0 {
		t.Fatal("an attempt was opened after the lease had ended")
	}
	due, err := w.Due(context.Background(), evidence.QueueLease, 10)
	must(t, err)
	if len(due) != 1 || due[0] != id {
		t.Fatalf("the orphan is not due: %v", due)
	}
	w.settle(store.News{Evidence: evidence.Evidence{Kind: evidence.LeaseEnded, Message: id}, Reference: -1})
	w.state(id, message.Pending)
	fresh := w.claim(1)
	if len(fresh) != 1 || fresh[0].Fence <= stale[0].Fence {
		t.Fatalf("the second claim: %+v after %+v", fresh, stale)
	}
	if opened := w.open(stale); len(opened) != 0 {
		t.Error("an attempt was opened under an old fence")
	}
	foreign := w.openSpec()
	foreign.Node = ident.NewNode()
	if opened, _ := w.OpenAttempts(context.Background(), foreign, fresh); len(opened) != 0 {
		t.Error("another node opened an attempt")
	}
	if opened := w.open(fresh); len(opened) != 1 {
		t.Error("the rightful owner could not open its attempt")
	}
}

// testReferences takes more references than one try proposes, and frees those whose attempts need them no more.
func testReferences(t *testing.T, h Harness) {
	w := newWorld(t, h)
	seen := map[int32]store.Opened{}
	for i := range 40 {
		o := w.attempt(ask{event: "R", version: string(rune('a' + i)), to: 12})
		if _, twice := seen[o.Reference]; twice || o.Reference < 0 {
			t.Fatalf("reference %d was given twice or not at all", o.Reference)
		}
		seen[o.Reference] = o
	}
	for _, o := range seen {
		w.settle(w.outcome(o, message.OutcomeAccepted, "id-"+o.Message.String()))
	}
	// The references are free: a receipt that echoes one of them finds nobody.
	var any store.Opened
	for _, any = range seen {
		break
	}
	out := w.settle(w.receipt("unknown", any.Reference, "delivered", 12))
	if !out[0].Waiting {
		t.Errorf("a receipt matched by a reference that was given back: %+v", out[0])
	}
}

// covers: D9, I5
func testOrphan(t *testing.T, h Harness) {
	w := newWorld(t, h)
	o := w.attempt(ask{event: "N", version: "1", to: 13})
	orphan := store.News{Evidence: evidence.Evidence{Kind: evidence.LeaseEnded, Message: o.Message}, Reference: -1}
	if out := w.settle(orphan); fault.CodeOf(out[0].Err) != fault.State {
		t.Fatalf("an attempt that may still be answered was orphaned: %v", out[0].Err)
	}
	w.advance(11 * time.Second)
	w.settle(orphan)
	w.state(o.Message, message.Unknown)
	if claims := w.claim(9); len(claims) != 0 {
		t.Fatal("a message with an unknown outcome was claimed again")
	}
	late := w.outcome(o, message.OutcomeAccepted, "late-1")
	late.Late = true
	w.settle(late)
	m := w.state(o.Message, message.Accepted)
	if string(m.Attempts[0].ExternalID) != "late-1" {
		t.Errorf("the late answer's id was not kept: %q", m.Attempts[0].ExternalID)
	}
}

func testCancelAndValidity(t *testing.T, h Harness) {
	w := newWorld(t, h)
	other := w.tenant + 1
	cancel := func(id ident.Message, tenant *ident.Partition) store.Settled {
		return w.settle(store.News{Evidence: evidence.Evidence{Kind: evidence.Cancel, Message: id, Person: "ann", Reason: "wrong"}, Tenant: tenant, Reference: -1})[0]
	}
	id := w.taken(ask{event: "X", version: "1", to: 14})
	if out := cancel(id, &other); fault.CodeOf(out.Err) != fault.NotFound {
		t.Fatalf("another tenant cancelled: %v", out.Err)
	}
	must(t, cancel(id, &w.tenant).Err)
	w.state(id, message.Cancelled)
	if out := cancel(id, &w.tenant); fault.CodeOf(out.Err) != fault.State {
		t.Errorf("cancelling twice: %v", out.Err)
	}
	short := w.taken(ask{event: "X", version: "2", to: 14, validFor: time.Second})
	long := w.taken(ask{event: "X", version: "3", to: 14})
	w.advance(2 * time.Second)
	if claims := w.claim(9); len(claims) != 1 || claims[0].Message != long {
		t.Fatalf("claimed %v: a message was to be sent after its validity, or none was", claims)
	}
	due, cursor, err := w.DueValidity(context.Background(), store.Cursor{}, 100)
	must(t, err)
	if len(due) != 1 || due[0] != short || cursor != (store.Cursor{}) {
		t.Fatalf("due %v, cursor %v", due, cursor)
	}
	w.settle(store.News{Evidence: evidence.Evidence{Kind: evidence.ValidityEnded, Message: short}, Reference: -1})
	w.state(short, message.Expired)
}
