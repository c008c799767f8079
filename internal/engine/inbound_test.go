package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/engine/receipt"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
)

// A message from a handset is stored, sealed, and owes nothing to anybody yet.
//
// covers: R1, D15
func TestAnInboundCallIsStoredAndSealed(t *testing.T) {
	g := openGateway(t, settings{window: 10, answer: time.Second, grace: time.Minute, every: 10 * time.Millisecond})
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
	clear, err := secret.NewSealer([32]byte{1}, g.store).Open(context.Background(), receipt.Place(r.ID), r.Payload, nil)
	must(t, err)
	if !strings.Contains(string(clear), "a private word") {
		t.Error("the payload is not the call as received")
	}
}
