package receipt

import (
	"context"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// settle gives a batch its effect and returns how many are in nobody's way any more: they have one now, or were put
// aside. What fails stays on the list of work: the log has it, and the sweep comes by again.
func (w *Worker) settle(ctx context.Context, batch []store.DueReceipt) int {
	var news []store.News
	var others []ident.Receipt
	for i := range batch {
		r := &batch[i]
		if isReceipt(r.Kind) {
			news = append(news, w.news(r))
		} else {
			others = append(others, r.ID)
		}
	}
	failed := map[ident.Receipt]error{}
	n := w.settleNews(ctx, news, failed) + w.finish(ctx, others)
	if n > 0 && w.cfg.Committed != nil {
		w.cfg.Committed()
	}
	return n + w.putAside(ctx, batch, failed)
}

// news is a stored receipt as the store takes it.
func (w *Worker) news(r *store.DueReceipt) store.News {
	n := store.NewsOf(&r.LoggedReceipt)
	n.Receipt.EchoDeclared = w.cfg.Connections()[r.Connection].EchoesReference
	n.GraceOver = r.Waited
	return n
}

// settleNews settles receipts, and says which of them failed alone. One that the store cannot take is found by
// settling each alone; a store that is away takes none, and that is no receipt's fault.
func (w *Worker) settleNews(ctx context.Context, news []store.News, failed map[ident.Receipt]error) int {
	if len(news) == 0 {
		return 0
	}
	settled, err := w.cfg.Store.Settle(ctx, news, w.cfg.Rules)
	switch {
	case err == nil:
		chaos.At(chaos.OutcomeCommitted)
		return w.settled(ctx, news, settled, failed)
	case fault.CodeOf(err) != fault.Internal || len(news) == 1:
		w.logError(ctx, "receipts could not be settled; they stay on the list of work", err, "count", len(news))
		if fault.CodeOf(err) == fault.Internal {
			failed[news[0].Receipt.ID] = err
		}
		return 0
	}
	n := 0
	for i := range news {
		n += w.settleNews(ctx, news[i:i+1], failed)
	}
	return n
}

func (w *Worker) settled(ctx context.Context, news []store.News, settled []store.Settled, failed map[ident.Receipt]error) int {
	n := 0
	for i, s := range settled {
		w.cfg.Metrics.receipt(w.cfg.Connections()[news[i].Connection], effect(&news[i], &s))
		if s.Err != nil {
			w.logError(ctx, "a receipt could not be settled; it stays on the list of work", s.Err, "receipt", news[i].Receipt.ID.String())
			failed[news[i].Receipt.ID] = s.Err
			continue
		}
		n++
	}
	return n
}

// effect names what a receipt did, for the metrics.
func effect(n *store.News, s *store.Settled) string {
	switch {
	case s.Err != nil:
		return "failed"
	case s.Known:
		return "known"
	case s.Waiting:
		return "waiting"
	case s.Case == nil:
		return "exception"
	}
	for _, e := range s.Case.Events {
		if e.Receipt == n.Receipt.ID && e.Kind != evidence.EventReceipt {
			return string(e.Kind)
		}
	}
	return "applied"
}

// finish takes calls off the list that have no effect on a message: inbound messages, acknowledgements. They
// stay in the log.
func (w *Worker) finish(ctx context.Context, ids []ident.Receipt) int {
	if len(ids) == 0 {
		return 0
	}
	if err := w.cfg.Store.FinishReceipts(ctx, ids); err != nil {
		w.logError(ctx, "inbound calls could not be taken off the list of work", err)
		return 0
	}
	w.cfg.Metrics.others.Add(float64(len(ids)))
	return len(ids)
}

// logError logs an error, unless it comes from our own end.
func (w *Worker) logError(ctx context.Context, what string, err error, args ...any) {
	if ctx.Err() == nil {
		w.cfg.Log.Error(what, append(args, "error", err)...)
	}
}
