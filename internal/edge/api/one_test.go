package api

import (
	"maps"
	"slices"
	"testing"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/ground/ident"
)

// history replaces the message's events by ones of the given kinds, each from a receipt.
func (w *world) history(kinds ...evidence.EventKind) {
	w.store.events, w.store.eventReads = nil, 0
	for i, kind := range kinds {
		w.store.events = append(w.store.events, evidence.Event{N: uint32(i + 1), Kind: kind, Receipt: ident.Receipt{4}})
	}
}

// covers: R10
func TestReceiptMarksAreShownBesideTheFinalStatus(t *testing.T) {
	w := newWorld(t)
	path := "/v1/messages/" + w.store.message.ID.String()
	for _, c := range []struct {
		history []evidence.EventKind
		want    []string
	}{
		{nil, []string{}},
		{[]evidence.EventKind{evidence.EventTaken, evidence.EventOutcome, evidence.EventReceipt, evidence.EventLate}, []string{}},
		{[]evidence.EventKind{evidence.EventReceipt, evidence.EventRepeated, evidence.EventRepeated}, []string{"repeated"}},
		{[]evidence.EventKind{evidence.EventReceipt, evidence.EventOvertaken}, []string{"late"}},
		{[]evidence.EventKind{evidence.EventReceipt, evidence.EventConflict}, []string{"conflicting"}},
		{[]evidence.EventKind{evidence.EventConflict, evidence.EventOvertaken, evidence.EventRepeated}, []string{"repeated", "late", "conflicting"}},
	} {
		w.history(c.history...)
		var m OneMessageView
		w.get(path, 200, &m)
		if m.ReceiptMarks == nil || !slices.Equal(m.ReceiptMarks, c.want) || m.State != "delivered" || !m.Final {
			t.Errorf("%v: %v, state %s", c.history, m.ReceiptMarks, m.State)
		}
		if w.store.eventReads != 1 {
			t.Errorf("%v: %d questions", c.history, w.store.eventReads)
		}
	}
}

// An answer that contradicts is no receipt, and has an exception of its own.
func TestAnswersLeaveNoReceiptMark(t *testing.T) {
	w := newWorld(t)
	w.history(evidence.EventConflict)
	w.store.events[0].Receipt = ident.Receipt{}
	var m OneMessageView
	w.get("/v1/messages/"+w.store.message.ID.String(), 200, &m)
	if m.ReceiptMarks == nil || len(m.ReceiptMarks) > 0 {
		t.Errorf("%v", m.ReceiptMarks)
	}
}

// A provider that repeats itself without end does not hide a contradiction.
//
// covers: R10
func TestReceiptMarksBehindManyRepeats(t *testing.T) {
	w := newWorld(t)
	w.history(append(slices.Repeat([]evidence.EventKind{evidence.EventRepeated}, maxHistory), evidence.EventConflict)...)
	var m OneMessageView
	w.get("/v1/messages/"+w.store.message.ID.String(), 200, &m)
	if !slices.Equal(m.ReceiptMarks, []string{"repeated", "conflicting"}) || w.store.eventReads != 2 {
		t.Errorf("%v, %d questions", m.ReceiptMarks, w.store.eventReads)
	}
}

// Lists would need a question for each message.
func TestListsHaveNoReceiptMarks(t *testing.T) {
	w := newWorld(t)
	w.history(evidence.EventRepeated)
	var l List[map[string]any]
	w.get("/v1/messages", 200, &l)
	if _, there := l.Data[0]["receipt_marks"]; there || w.store.eventReads != 0 {
		t.Errorf("%v, %d questions", l.Data[0], w.store.eventReads)
	}
}

func TestReceiptMarksAreDescribed(t *testing.T) {
	w := newWorld(t)
	type schema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	var doc struct {
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	w.get("/openapi.json", 200, &doc)
	one, entry := doc.Components.Schemas["OneMessageView"], doc.Components.Schemas["MessageView"]
	if one.Properties["receipt_marks"].Type != "array" || !slices.Contains(one.Required, "receipt_marks") ||
		len(one.Properties) != len(entry.Properties)+3 || !slices.Contains(one.Required, "state") {
		t.Errorf("%+v", one)
	}
	attempt := doc.Components.Schemas["AttemptView"].Properties
	if attempt["source_sent"].Type != "string" || attempt["destination_sent"].Type != "string" {
		t.Errorf("%+v", attempt)
	}
}

// One message shows how its destination was asked for; lists, which would have to open each text, do not.
//
// covers: D2, D14, R15
func TestDestinationAsAskedFor(t *testing.T) {
	w := newWorld(t)
	var one map[string]any
	w.get("/v1/messages/"+w.store.message.ID.String(), 200, &one)
	if one["to_received"] != "(20•••0143" || one["to"] != "+1202•••0143" {
		t.Errorf("%v", one)
	}
	if node := one["attempts"].([]any)[0].(map[string]any)["node"]; node != w.store.message.Attempts[0].Node.String() {
		t.Errorf("the attempt was made by %v", node)
	}
	var l List[map[string]any]
	w.get("/v1/messages", 200, &l)
	if _, there := l.Data[0]["to_received"]; there {
		t.Errorf("%v", l.Data[0])
	}
}

// covers: R15
func TestAddressesAsSentAreMasked(t *testing.T) {
	for sent, want := range map[string]string{
		"": "", "1/1 12025550143": "1/1 1202•••0143", "+12025550143": "+1202•••0143", "12025550143": "1202•••0143",
		"1/1 0012025550143": "1/1 •••", "5/0 x12025550143": "5/0 •••",
	} {
		if got := maskedAddress(sent, ""); got != want {
			t.Errorf("%q: %q, want %q", sent, got, want)
		}
	}
	for _, sent := range []string{"1/1 12025550143", "+12025550143"} {
		if got := maskedAddress(sent, number); got != sent {
			t.Errorf("%q was searched for and is shown as %q", sent, got)
		}
	}
}

// A client that was generated from this release does not break on a member that the next one adds to an answer; a
// request keeps to what is known.
func TestAnswersAreOpenAndRequestsAreNot(t *testing.T) {
	schemas := newWorld(t).api.OpenAPI().Components.Schemas.Map()
	for name, strict := range map[string]bool{"SubmitBody": true, "CancelBody": true, "KeyBody": true, "SubmitAnswer": false, "AnswerDecision": false, "Problem": false, "OneMessageView": false} {
		s := schemas[name]
		if s == nil {
			t.Errorf("there is no schema %s among %v", name, slices.Sorted(maps.Keys(schemas)))
			continue
		}
		if (s.AdditionalProperties == false) != strict {
			t.Errorf("%s: strict %v, want %v", name, s.AdditionalProperties == false, strict)
		}
	}
}
