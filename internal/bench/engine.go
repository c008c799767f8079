package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/request"
	"github.com/einmal/einmal/internal/domain/route"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
)

// engine is the gateway's decisions in this process, over a store of a run, put together as package app does.
type engine struct {
	store             store.Store
	outbound          *outbound.Service
	sealer            *secret.Sealer
	identity          *secret.Identity
	tenant            ident.Partition
	connection, space int64
}

func (s *scratch) startEngine(ctx context.Context) (*engine, error) {
	c, err := s.config()
	if err != nil {
		return nil, err
	}
	st, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	e := &engine{store: st}
	brought := builtinPolicy()
	if s.policy != nil {
		brought = *s.policy
	}
	if err := e.build(ctx, c, brought); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return e, nil
}

func (e *engine) build(ctx context.Context, c app.Config, brought store.PolicyVersion) (err error) {
	if e.tenant, err = e.store.EnsureTenant(ctx, "default"); err != nil {
		return err
	}
	if e.connection, e.space, err = e.store.EnsureConnection(ctx, "carrier", ""); err != nil {
		return err
	}
	keys, err := secret.OpenFolder(filepath.Join(c.Data, "keys")) // a gateway's, where one ran before
	if err != nil {
		return err
	}
	e.identity, e.sealer = secret.NewIdentity(keys.Identity), secret.NewSealer(keys.Sealing, e.store)
	e.outbound = outbound.New(outbound.Config{
		Store: e.store, Identity: e.identity, Sealer: e.sealer, Clock: clock.System{}, Sender: "SHOP",
		Policy:    brought,
		Simulated: func(int64) bool { return false },
		Route: func(context.Context, route.Question) (outbound.Connection, error) {
			return outbound.Connection{ID: e.connection}, nil
		}, Batch: app.Batching(c), Log: slog.New(slog.DiscardHandler),
	})
	return e.outbound.Start(ctx)
}

// Close finishes what was taken.
func (e *engine) Close() error {
	e.outbound.Close()
	return e.store.Close()
}

// order is the request number n of a run: an order confirmation of an order that there is no other of.
func (e *engine) order(n int) outbound.Submission {
	return outbound.Submission{
		Tenant: e.tenant, Caller: "bench", Operation: "POST /v1/messages",
		Members: request.Members{
			To: destination(n), Purpose: "order_confirmation",
			Event: intent.Event{Type: "order", ID: orderID(n), Version: "1"}, Sender: "SHOP",
			Template: intent.Template{ID: "order_confirmed", Version: "3"}, Text: orderText(n), CorrelationID: correlation(n),
		},
	}
}

func orderID(n int) string     { return fmt.Sprintf("A-%08d", n) }
func orderText(n int) string   { return "Your order " + orderID(n) + " is confirmed." }
func correlation(n int) string { return fmt.Sprintf("checkout-%08d", n) }

// destination is a number to which the simulated message centre delivers: its last two digits choose no ending.
func destination(n int) string {
	const plain, first = 85, 15 // 15 to 99
	return fmt.Sprintf("+1202%03d%02d%02d", 200+n/plain/100%800, n/plain%100, first+n%plain)
}
