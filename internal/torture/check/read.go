package check

import (
	"context"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// pageSize is how much is read at once.
const pageSize = 500

// Read fills in what the store keeps. Nobody else may work on the store: the outbox is emptied into the feed first.
func (h *History) Read(ctx context.Context, s store.Store) (err error) {
	for n := 1; n > 0 && err == nil; {
		n, err = s.Sequence(ctx, pageSize)
	}
	if err != nil {
		return err
	}
	for _, read := range []func(context.Context, store.Store) error{h.readMessages, h.readRest, h.readActs, h.readFeed} {
		if err := read(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (h *History) readMessages(ctx context.Context, s store.Store) error {
	all, err := pages(func(p store.Page) ([]*store.Message, error) {
		return s.Messages(ctx, h.Tenant, store.MessageFilter{}, p)
	}, func(m *store.Message) (clock.Micros, [16]byte) { return m.CreatedAt, m.ID })
	if err != nil {
		return err
	}
	for _, m := range all {
		events, err := s.Events(ctx, h.Tenant, m.ID, 0, pageSize)
		if err != nil {
			return err
		}
		h.Messages = append(h.Messages, &Message{Message: m, Events: events})
	}
	return nil
}

func (h *History) readRest(ctx context.Context, s store.Store) (err error) {
	h.Decisions, err = pages(func(p store.Page) ([]*store.Decision, error) {
		return s.Decisions(ctx, h.Tenant, ident.Message{}, p)
	}, func(d *store.Decision) (clock.Micros, [16]byte) { return d.At, d.ID })
	if err != nil {
		return err
	}
	h.Receipts, err = pages(func(p store.Page) ([]*store.LoggedReceipt, error) {
		return s.Receipts(ctx, h.Tenant, ident.Message{}, p)
	}, func(r *store.LoggedReceipt) (clock.Micros, [16]byte) { return r.ReceivedAt, r.ID })
	if err != nil {
		return err
	}
	h.Exceptions, err = pages(func(p store.Page) ([]*store.ExceptionView, error) {
		return s.Exceptions(ctx, h.Tenant, store.ExceptionFilter{}, p)
	}, func(x *store.ExceptionView) (clock.Micros, [16]byte) { return x.At, x.ID })
	return err
}

func (h *History) readActs(ctx context.Context, s store.Store) (err error) {
	h.Stops, err = pages(func(p store.Page) ([]store.Stop, error) { return s.ListStops(ctx, h.Tenant, false, p) },
		func(s store.Stop) (clock.Micros, [16]byte) { return s.At, s.ID })
	if err != nil {
		return err
	}
	if h.Policies, err = s.PoliciesInForce(ctx, pageSize); err != nil {
		return err
	}
	if h.Incarnation, err = s.Incarnation(ctx); err != nil {
		return err
	}
	h.Work, err = s.DueReceipts(ctx, pageSize)
	return err
}

func (h *History) readFeed(ctx context.Context, s store.Store) error {
	h.Feed = map[FeedEvent]int{}
	for seq := int64(0); ; {
		events, err := s.After(ctx, h.Tenant, seq, pageSize)
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			h.Feed[FeedEvent{e.Message, e.N}]++
			seq = e.Seq
		}
	}
}

// pages reads a list to its end.
func pages[T any](read func(store.Page) ([]T, error), place func(T) (clock.Micros, [16]byte)) ([]T, error) {
	var all []T
	for p := (store.Page{Limit: pageSize}); ; {
		page, err := read(p)
		all = append(all, page...)
		if err != nil || len(page) < pageSize {
			return all, err
		}
		p.At, p.ID = place(page[len(page)-1])
	}
}
