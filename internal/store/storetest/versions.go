package storetest

import (
	"context"
	"testing"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// testVersions: whatever happens to a message changes its version, and no other's.
func testVersions(t *testing.T, h Harness) {
	w := newWorld(t, h)
	other := w.taken(ask{event: "V2", version: "1", to: 41})
	id := w.taken(ask{event: "V1", version: "1", to: 40})
	nobody := ident.NewMessage(w.tenant)
	read := func() (all [2]any) {
		t.Helper()
		got, err := w.Versions(context.Background(), []ident.Message{id, nobody, other})
		must(t, err)
		if len(got) != 2 {
			t.Fatalf("%d versions of two messages: %+v", len(got), got)
		}
		return [2]any{got[id], got[other]}
	}
	w.claim(1) // the other one, which came first
	before := read()
	step := func(what string, happens func()) {
		t.Helper()
		happens()
		after := read()
		if after[0] == before[0] || after[1] != before[1] {
			t.Errorf("%s: the versions were %+v and are %+v", what, before, after)
		}
		before = after
	}
	var o store.Opened
	step("the claim", func() { o = w.open(w.claim(1))[0] })
	if o.Message != id {
		t.Fatalf("%s was opened, want %s", o.Message, id)
	}
	step("the answer", func() { w.settle(w.outcome(o, message.OutcomeAccepted, "ext-v")) })
	step("the receipt", func() { w.settle(w.receipt("ext-v", -1, "delivered", 40)) })
	if got, err := w.Versions(context.Background(), nil); err != nil || len(got) != 0 {
		t.Errorf("of nothing: %v %v", got, err)
	}
}
