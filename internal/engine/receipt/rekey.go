package receipt

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/receipt"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// rekeyScan is how many messages are looked at in one go.
const rekeyScan = 1000

// Declared says that a connection was added, or what is declared of one has changed. It never blocks.
func (w *Worker) Declared() {
	select {
	case w.declared <- struct{}{}:
	default:
	}
}

// rekeyLoop rekeys at the start and after each declaration, however often it has to try.
func (w *Worker) rekeyLoop(ctx context.Context) {
	tick := time.NewTicker(w.cfg.Every)
	defer tick.Stop()
	for {
		err := w.rekey(ctx)
		again := tick.C
		if err == nil {
			again = nil
		} else {
			w.logError(ctx, "message ids could not be registered under the form that is declared; it is tried again", err)
		}
		select {
		case <-again:
		case <-w.declared:
		case <-w.stopping:
			return
		case <-ctx.Done():
			return
		}
	}
}

// rekey registers the message ids of all attempts that still await a receipt under the form that their connection
// declares, where that has changed since a node started last: ids from before would be found to the letter alone.
// Receipts that came meanwhile wait, and are found by it. It may run on several nodes, and again.
func (w *Worker) rekey(ctx context.Context) error {
	for id, c := range w.cfg.Connections() {
		name, declared := fmt.Sprintf("message_ids/%d", id), declaration(w.cfg.Rules.Profile(id).IDs)
		known, err := w.cfg.Store.Meta(ctx, name)
		if err != nil {
			return err
		}
		if known == declared {
			continue
		}
		if declared != "" {
			if err := w.rekeyConnection(ctx, id, c); err != nil {
				return err
			}
		}
		if err := w.cfg.Store.SetMeta(ctx, name, declared); err != nil {
			return err
		}
	}
	return nil
}

// declaration is what is declared of message ids, as it is remembered; nothing is empty.
func declaration(d receipt.IDs) string {
	if d == (receipt.IDs{}) {
		return ""
	}
	b, err := json.Marshal(d)
	if err != nil {
		panic(err) // strings, numbers and flags: it cannot be
	}
	return string(b)
}

func (w *Worker) rekeyConnection(ctx context.Context, id int64, c Connection) error {
	n := 0
	for from := (store.Cursor{}); ; {
		ids, next, err := w.cfg.Store.AwaitedIDs(ctx, id, from, rekeyScan)
		if err == nil {
			err = w.retell(ctx, id, c, ids)
		}
		if err != nil {
			return err
		}
		n += len(ids)
		if from = next; from == (store.Cursor{}) {
			w.cfg.Log.Info("message ids that await receipts are registered under the form that is declared now", "connection", c.Name, "count", n)
			return nil
		}
	}
}

// retell settles known answers again: they move nothing, and are registered as new ones are. An id that a receipt
// brought is not written as answers are, and with two bases would be another number.
func (w *Worker) retell(ctx context.Context, id int64, c Connection, ids []store.AwaitedID) error {
	twoBases := w.cfg.Rules.Profile(id).IDs.TwoBases()
	var news []store.News
	for _, a := range ids {
		if !a.Answered && twoBases {
			continue
		}
		news = append(news, store.News{IDSpace: c.IDSpace, Connection: id, Reference: -1, Evidence: evidence.Evidence{
			Kind: evidence.Outcome, Message: a.Message, Attempt: a.Attempt, Part: a.Part, Outcome: message.OutcomeAccepted, ExternalID: a.ExternalID,
		}})
	}
	for len(news) > 0 {
		n := min(len(news), maxBatch)
		settled, err := w.cfg.Store.Settle(ctx, news[:n], w.cfg.Rules)
		if err != nil {
			return err
		}
		for i, s := range settled {
			if s.Err != nil && fault.CodeOf(s.Err) == fault.Unavailable {
				return s.Err
			}
			if s.Err != nil { // a defect in one does not keep the others from being registered
				w.logError(ctx, "a message id could not be registered under the form that is declared", s.Err, "message", news[i].Message.String())
			}
		}
		news = news[n:]
	}
	return nil
}
