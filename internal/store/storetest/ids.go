package storetest

import (
	"context"
	"testing"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/receipt"
	"github.com/einmal/einmal/internal/store"
)

// declare sets how message ids of the world's connection are written.
func (w *world) declare(ids receipt.IDs) { w.profile(evidence.Profile{IDs: ids}) }

// profile sets what is declared of the world's connection.
func (w *world) profile(p evidence.Profile) {
	w.rules.Profiles = func(connection int64) evidence.Profile {
		if connection != w.conn {
			return evidence.Profile{}
		}
		return p
	}
}

// match is by what the last receipt of a message was matched.
func (w *world) match(o store.Opened) string {
	w.t.Helper()
	events, err := w.Events(context.Background(), o.Tenant, o.Message, 0, 100)
	must(w.t, err)
	match := ""
	for _, e := range events {
		if !e.Receipt.IsZero() {
			match = e.Detail["match"]
		}
	}
	return match
}

// An id of 64 bits is hexadecimal in the answer and decimal in the receipt. They meet whoever is first, also in one
// batch, and the neighbouring number is nobody's.
//
// covers: R4, R5, C13
func testIDsInTwoBases(t *testing.T, h Harness) {
	w := newWorld(t, h)
	w.declare(receipt.IDs{Response: receipt.Hex, Receipt: receipt.Decimal})
	for i, c := range []struct{ response, receipt, neighbour string }{
		{"812FC7470000001B", "9308878062554710043", "9308878062554710044"},
		{"00000000812fc7470000002c", "9308878062554710060", "9308878062554710061"},
		{"812FC7470000003D", "09308878062554710077", "9308878062554710078"},
	} {
		o := w.attempt(ask{event: "bases", version: c.response, to: 50})
		answer, report := w.outcome(o, message.OutcomeAccepted, c.response), w.receipt(c.receipt, -1, "delivered", 50)
		if out := w.settle(w.receipt(c.neighbour, -1, "undelivered", 50)); !out[0].Waiting {
			t.Errorf("%s: the nearest id was taken for it", c.response)
		}
		switch i {
		case 0:
			w.settle(answer)
			w.settle(report)
		case 1:
			w.settle(report)
			w.settle(answer)
		default:
			w.settle(report, answer)
		}
		m := w.state(o.Message, message.Delivered)
		if string(m.Attempts[0].ExternalID) != c.response || w.match(o) != string(evidence.ByNormalisedID) {
			t.Errorf("the id is kept as %q, matched by %s", m.Attempts[0].ExternalID, w.match(o))
		}
	}
}

// The same octets are two numbers in two bases: where both have an attempt, neither is chosen. An id that a receipt
// has in the answer's own letters is found all the same.
//
// covers: R4, C13
func testIDsThatAreTwoNumbers(t *testing.T, h Harness) {
	w := newWorld(t, h)
	w.declare(receipt.IDs{Response: receipt.Hex, Receipt: receipt.Decimal})
	sixteen, twentyTwo := w.attempt(ask{event: "sixteen", version: "1", to: 51}), w.attempt(ask{event: "22", version: "1", to: 51})
	w.settle(w.outcome(sixteen, message.OutcomeAccepted, "10"), w.outcome(twentyTwo, message.OutcomeAccepted, "16"))
	w.settle(w.receipt("16", -1, "delivered", 51))
	w.state(sixteen.Message, message.Accepted)
	w.state(twentyTwo.Message, message.Accepted)
	w.exceptions("ambiguous")
	w.settle(w.receipt("22", -1, "delivered", 51))
	w.state(twentyTwo.Message, message.Delivered)
	letters := w.attempt(ask{event: "letters", version: "1", to: 51})
	w.settle(w.outcome(letters, message.OutcomeAccepted, "7B1C9F2E"), w.receipt("7B1C9F2E", -1, "delivered", 51))
	w.state(letters.Message, message.Delivered)
	if w.match(letters) != string(evidence.ByExternalID) {
		t.Errorf("matched by %s", w.match(letters))
	}
}

// Ids are opaque unless it is declared otherwise; where more counts as equal, equal letters come first.
//
// covers: R4, C15
func testOpaqueIDs(t *testing.T, h Harness) {
	w := newWorld(t, h)
	stored := []string{"00B8BE19", "0e99aa21-81ef-4974-a414-3de98174e300", "SAR-12025550143-1eedf843-2-1", "0123", "123"}
	opened := make([]store.Opened, len(stored))
	for i, id := range stored {
		opened[i] = w.attempt(ask{event: "opaque", version: id, to: 52})
		w.settle(w.outcome(opened[i], message.OutcomeAccepted, id))
	}
	for _, id := range []string{"B8BE19", "0E99AA21-81EF-4974-A414-3DE98174E300", "00b8be19"} {
		if out := w.settle(w.receipt(id, -1, "delivered", 52)); !out[0].Waiting {
			t.Errorf("%s was taken for another id", id)
		}
	}
	for i, id := range stored {
		if out := w.settle(w.receipt(id, -1, "en_route", 52)); out[0].Message != opened[i].Message {
			t.Errorf("%s found %s", id, out[0].Message)
		}
	}
	w.declare(receipt.IDs{AnyCase: true, AnyZeros: true})
	for i, id := range stored { // attempts from before the declaration are found by their letters
		w.settle(w.receipt(id, -1, "delivered", 52))
		w.state(opened[i].Message, message.Delivered)
	}
	o := w.attempt(ask{event: "loose", version: "1", to: 52})
	w.settle(w.outcome(o, message.OutcomeAccepted, "0000ABCD"))
	w.settle(w.receipt("abcd", -1, "delivered", 52))
	w.state(o.Message, message.Delivered)
	w.exceptions()
}

// Ids that were registered before a form was declared are listed to be registered under it, with who wrote them, and
// telling their answers again changes nothing but that.
//
// covers: R4, R5, C13
func testAwaitedIDs(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	var opened []store.Opened
	for i, id := range []string{"7B1C9F2E", "7B1C9F2F", "7B1C9F30"} {
		o := w.attempt(ask{event: "awaited", version: id, to: 53})
		opened = append(opened, o)
		if i == 2 { // its answer was lost
			w.settle(w.outcome(o, message.OutcomeUnknown, ""), w.receipt(id, o.Reference, "en_route", 53))
			continue
		}
		w.settle(w.outcome(o, message.OutcomeAccepted, id))
	}
	w.settle(w.receipt("7B1C9F2F", -1, "delivered", 53)) // final: nothing is awaited
	early := w.receipt("2065473326", -1, "delivered", 53)
	w.settle(early)
	var found []store.AwaitedID
	for from, rounds := (store.Cursor{}), 0; ; rounds++ {
		ids, next, err := w.AwaitedIDs(ctx, w.conn, from, 1)
		must(t, err)
		found = append(found, ids...)
		if from = next; from == (store.Cursor{}) {
			break
		}
		if rounds > 10 {
			t.Fatal("the list has no end")
		}
	}
	if len(found) != 2 || string(found[0].ExternalID) != "7B1C9F2E" && string(found[1].ExternalID) != "7B1C9F2E" {
		t.Fatalf("awaited are %+v", found)
	}
	w.declare(receipt.IDs{Response: receipt.Hex, Receipt: receipt.Decimal})
	for _, a := range found {
		if a.Answered != (string(a.ExternalID) == "7B1C9F2E") {
			t.Errorf("%q: answered %v", a.ExternalID, a.Answered)
		}
		again := store.News{IDSpace: w.space, Connection: w.conn, Reference: -1, Evidence: evidence.Evidence{
			Kind: evidence.Outcome, Message: a.Message, Attempt: a.Attempt, Part: a.Part, Outcome: message.OutcomeAccepted, ExternalID: a.ExternalID,
		}}
		w.settle(again, again)
	}
	early.GraceOver = true // it waited under its letters alone, and finds its attempt when its time to wait is over
	w.settle(early)
	w.state(opened[0].Message, message.Delivered)
	events, err := w.Events(ctx, w.tenant, opened[0].Message, 0, 100)
	must(t, err)
	if len(events) != 3 {
		t.Errorf("the history has %d lines, want 3: %+v", len(events), events)
	}
	if ids, _, err := w.AwaitedIDs(ctx, w.conn+1, store.Cursor{}, 10); err != nil || len(ids) != 0 {
		t.Errorf("another connection awaits %d ids: %v", len(ids), err)
	}
	w.exceptions()
}
