package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
)

// A message from a handset is stored, sealed, and owes nothing to anybody yet.
//
// covers: R1, D15
func TestAnInboundCallIsStoredAndSealed(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { inboundCallIsSealed(t, open(t)) })
	}
}

func inboundCallIsSealed(t *testing.T, s store.Store) {
	g := openGatewayOn(t, settings{window: 10, answer: time.Second, grace: time.Minute, every: 10 * time.Millisecond}, s)
	centre := simulator.New(simulator.Config{})
	must(t, centre.Start())
	t.Cleanup(func() { must(t, centre.Close()) })
	g.address = centre.Addr()
	t.Cleanup(g.startNode(context.Background()))
	g.await("the bind", func() bool {
		g.note() // nothing is committed meanwhile: look again
		return centre.Inbound("einmal", "12025550100", "SHOP", "a private word") == nil
	})
	var logged []*store.LoggedReceipt
	g.await("the call to be stored", func() bool {
		var err error
		logged, err = g.store.Receipts(context.Background(), g.tenant, ident.Message{}, store.Page{Limit: 10})
		must(t, err)
		return len(logged) == 1
	})
	r := logged[0]
	if r.Kind != "inbound" || r.Connection != g.conn || strings.Contains(r.Parsed+string(r.Payload), "private") {
		t.Errorf("stored as %s of connection %d, beside the payload: %s", r.Kind, r.Connection, r.Parsed)
	}
	if !strings.Contains(g.unseal(r), "a private word") {
		t.Error("the payload is not the call as received")
	}
}

// A receipt quotes the first characters of a text. Of an authentication message that is the code: it leaves the
// log as soon as it is known whose receipt it is, also where the receipt came before the answer. Other receipts
// stay as they were received.
//
// covers: D15
func TestAQuotedCodeLeavesTheLog(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { quotedCodeLeavesTheLog(t, open(t)) })
	}
}

func quotedCodeLeavesTheLog(t *testing.T, s store.Store) {
	g := openGatewayOn(t, settings{window: 10, answer: time.Second, grace: time.Minute, every: 10 * time.Millisecond}, s)
	t.Cleanup(g.startNode(context.Background()))
	code, early, other := g.submission("code", number("00")), g.submission("early", number("09")), g.submission("other", number("00"))
	for _, s := range []*store.Submission{&code, &early} {
		s.Purpose = policy.Purpose{Name: "login", Kind: policy.KindAuthentication, Key: []policy.KeyPart{policy.KeyEventID}, Window: policy.Window{Duration: time.Minute}}
		s.Keys.Intent = identityKey(intent.KeyForm(s.Purpose, s.Request))
	}
	for _, id := range g.send(code, early, other) {
		g.await("the receipt", func() bool { return g.message(id).State == message.Delivered })
		logged, err := g.store.Receipts(context.Background(), g.tenant, id, store.Page{Limit: 10})
		must(t, err)
		if len(logged) != 1 {
			t.Fatalf("%d receipts are stored, want 1", len(logged))
		}
		quoted := strings.Contains(g.unseal(logged[0]), "Hello")
		if want := id == other.Message; quoted != want {
			t.Errorf("the log quotes the text: %t, want %t", quoted, want)
		}
	}
}
