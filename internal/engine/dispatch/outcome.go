package dispatch

import (
	"strconv"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

var outcomes = map[provider.OutcomeKind]message.Outcome{
	provider.Accepted:  message.OutcomeAccepted,
	provider.Rejected:  message.OutcomeRejected,
	provider.Throttled: message.OutcomeThrottled,
	provider.NotSent:   message.OutcomeNotSent,
	provider.Unknown:   message.OutcomeUnknown,
}

// reporter takes the outcome of one attempt. It is called once, and perhaps once more with a late answer.
func (d *Dispatcher) reporter(o store.Opened) provider.Report {
	return func(out provider.Outcome) {
		d.cfg.Metrics.outcome(d.cfg.Connection, out)
		d.notePause(out, time.Now())
		d.owe(d.outcomeNews(o, out))
		if !out.Late {
			d.flying.add(o.Claimed, -1)
			signal(d.landed)
		}
	}
}

func (d *Dispatcher) outcomeNews(o store.Opened, out provider.Outcome) store.News {
	n := store.News{
		Evidence: evidence.Evidence{
			Kind: evidence.Outcome, Message: o.Message, Attempt: o.Attempt, Part: o.Part,
			Outcome: outcomes[out.Kind], ExternalID: out.ExternalID,
			Code: out.Code, CodeName: out.CodeName, Detail: out.Detail, Bind: out.Bind, Late: out.Late, GiveUp: hopeless(out.Code),
		},
		IDSpace:    d.cfg.Connection.IDSpace,
		Connection: d.cfg.Connection.ID,
		Reference:  -1,
	}
	if o.Text.Parts > 1 && !out.Late && !d.isStopping() {
		n.Fence, n.Hold = o.Fence, d.cfg.Lease
	}
	if settlesReference(out) {
		n.Reference = o.Reference
	}
	return n
}

// settlesReference reports whether the attempt's reference is of no more use: the attempt has a message id by
// which its receipt is found, or there is nothing to find.
func settlesReference(out provider.Outcome) bool {
	if out.Kind == provider.Accepted {
		return len(out.ExternalID) > 0
	}
	return out.Kind != provider.Unknown
}

// owe puts news on the pile that the settling goroutines take from. After an end without order nobody takes
// from it: the store's sweep then finds the message by the end of its lease.
func (d *Dispatcher) owe(n store.News) {
	d.unsettled.Add(1)
	if d.outcomes.put(n) {
		return
	}
	d.unsettled.Add(-1)
	d.log().Warn("an answer came after the end and is not stored", "message", n.Message.String(), "attempt", strconv.Itoa(int(n.Attempt)))
}
