package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/engine/intake"
	"github.com/einmal/einmal/internal/engine/receipt"
	"github.com/einmal/einmal/internal/engine/settle"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/provider/smpp"
	wire "github.com/einmal/einmal/internal/smpp"
	"github.com/einmal/einmal/internal/store"
)

// leastOfReceipts is what receipts should reach, as docs/performance.md has it.
const leastOfReceipts = 0.5

// receiptTables are what a receipt adds to the store and leaves there: the call itself, its logical event, the
// message's event, and its place in the feed, or in the outbox before it.
var receiptTables = []tableOf{
	{name: "receipt", order: "received_at, id", allBut: "seq"}, {name: "register", order: "owner", only: "space = 6"},
	{name: "event", order: "message_id, n", only: "length(receipt_id) > 0"},
	{name: "outbox", order: "message_id, n", only: "n = 3"}, {name: "feed", order: "message_id, n", only: "n = 3"},
}

// Receipts measures receipts: read, stored, correlated, projected.
func Receipts(ctx context.Context, o Options) (*Report, error) {
	b, err := start(ctx, "receipts", o)
	if err == nil {
		err = b.receipts(ctx)
	}
	return b.end(err)
}

func (b *bench) receipts(ctx context.Context) error {
	b.Progress("receipts: warming up", 0, 0)
	_, rows, err := b.receiptTurn(ctx)
	if err != nil {
		return err
	}
	ours := side{"einmal", func(ctx context.Context) (sample, error) {
		got, _, err := b.receiptTurn(ctx)
		return got, err
	}}
	bare := side{"bare batched insert", func(ctx context.Context) (sample, error) { return b.insertBare(ctx, rows) }}
	all, err := b.turns(ctx, "receipts", ours, bare)
	if err != nil {
		return err
	}
	var goal *Goal // it is set for PostgreSQL
	if b.Store != sqliteStore {
		goal = atLeast(leastOfReceipts)
	}
	b.add(ratio("receipts / bare batched insert of the same rows", goal, merge(ours.name, all[0]), merge(bare.name, all[1]), all[0], all[1]),
		figure("rows that a receipt writes", rows.perItem(b.Count+warmUp), "rows", nil),
		figure("bytes that a receipt writes, indexes included", float64(rows.bytes)/float64(b.Count+warmUp), "bytes", nil),
		figure("memory of this process at its most", ownMost(), "MiB", nil))
	return nil
}

// receiptTurn takes the receipts of messages that were accepted before, and returns the rows that they left.
func (b *bench) receiptTurn(ctx context.Context) (got sample, made *copied, err error) {
	s, err := newScratch(ctx, b.Options)
	if err != nil {
		return got, nil, err
	}
	defer closing(&err, s)
	e, err := s.startEngine(ctx)
	if err != nil {
		return got, nil, err
	}
	numbers, err := e.accept(ctx, b.Count+warmUp)
	var before size
	if err == nil {
		before, err = s.size(ctx)
	}
	if err == nil {
		got, err = b.takeReceipts(ctx, e, numbers)
	}
	if err = errors.Join(err, e.Close()); err != nil {
		return got, nil, err
	}
	made, err = s.leftSince(ctx, before, receiptTables)
	return got, made, err
}

// takeReceipts gives the gateway's door a receipt for each message, in deliveries as large as a bind's, and waits
// until the last has had its effect.
func (b *bench) takeReceipts(ctx context.Context, e *engine, numbers []string) (got sample, err error) {
	calls, err := deliveries(numbers)
	if err != nil {
		return got, err
	}
	w := e.startReceipts(ctx)
	defer func() { err = errors.Join(err, w.stop(ctx)) }()
	if _, err := b.deliver(ctx, w, calls[:warmUp]); err != nil {
		return got, err
	}
	m := b.meter()
	answered, err := b.deliver(ctx, w, calls[warmUp:])
	return m.stop(b.Count, answered), err
}

// deliver gives the door calls over as many binds as there are writers, and returns after which time each delivery
// could be answered.
func (b *bench) deliver(ctx context.Context, w *receiptWorks, calls [][]byte) ([]time.Duration, error) {
	want := w.store.applied.Load() + int64(len(calls))
	parts := (len(calls) + batchSize - 1) / batchSize
	answered, err := inParallel(ctx, b.writers(), parts, func(i int) error {
		return w.door.Take(ctx, events(calls[i*batchSize:min((i+1)*batchSize, len(calls))]))
	})
	if err != nil {
		return nil, err
	}
	return answered, b.until(ctx, "receipts", int(want), func() (int, error) { return int(w.store.applied.Load()), nil })
}

// events reads what a message centre sent, as a bind does.
func events(calls [][]byte) []provider.RawEvent {
	all := make([]provider.RawEvent, len(calls))
	for i, raw := range calls {
		all[i] = provider.RawEvent{Payload: raw, Peer: "127.0.0.1:2775", Bind: "carrier", Parsed: smpp.Parse(raw)}
	}
	return all
}

// deliveries are the receipts of messages, as deliver_sm.
func deliveries(numbers []string) ([][]byte, error) {
	now := time.Now().UTC().Format("0601021504")
	all := make([][]byte, len(numbers))
	for i, number := range numbers {
		pdu := wire.PDU{Command: wire.CmdDeliverSM, Sequence: uint32(i + 1), Body: &wire.Message{
			Source: wire.Address{TON: wire.TONInternational, NPI: wire.NPIISDN, Addr: strings.TrimPrefix(number, "+")},
			Dest:   wire.Address{Addr: "SHOP"}, ESMClass: wire.ESMReceipt,
			ShortMessage: fmt.Appendf(nil, "id:%s sub:001 dlvrd:001 submit date:%s done date:%s stat:DELIVRD err:000 text:Your order A-000000", messageID(i), now, now),
		}}
		pdu.AddString(wire.TagReceiptedMessageID, messageID(i))
		pdu.AddOctet(wire.TagMessageState, 2)
		var err error
		if all[i], err = pdu.Append(nil); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// receiptWorks are the parts of a gateway that receipts pass, put together as package app does.
type receiptWorks struct {
	door   *intake.Door
	worker *receipt.Worker
	news   *settle.Queue
	store  *counting
}

// counting is a store that settles through the queue and counts the receipts that found their message.
type counting struct {
	store.Store
	news    *settle.Queue
	applied atomic.Int64
}

// Settle implements store.Settler.
func (c *counting) Settle(ctx context.Context, news []store.News, rules store.Rules) ([]store.Settled, error) {
	settled, err := c.news.Settle(ctx, news, rules)
	c.count(settled)
	return settled, err
}

// SettleLogged implements store.ReceiptLog.
func (c *counting) SettleLogged(ctx context.Context, logged []*store.LoggedReceipt, news []store.News, rules store.Rules) ([]store.Settled, error) {
	settled, err := c.news.SettleLogged(ctx, logged, news, rules)
	c.count(settled)
	return settled, err
}

func (c *counting) count(settled []store.Settled) {
	for _, s := range settled {
		if s.Err == nil && s.Case != nil {
			c.applied.Add(1)
		}
	}
}

func (e *engine) startReceipts(ctx context.Context) *receiptWorks {
	log, metrics := slog.New(slog.DiscardHandler), telemetry.NewMetrics()
	w := &receiptWorks{news: settle.New(e.store, e.rules())}
	w.store = &counting{Store: e.store, news: w.news}
	known := map[int64]receipt.Connection{e.connection: {Name: "carrier", IDSpace: e.space}}
	w.worker = receipt.New(receipt.Config{
		Store: w.store, Rules: e.rules(), Log: log, Metrics: receipt.NewMetrics(metrics),
		Connections: func() map[int64]receipt.Connection { return known },
	})
	w.door = intake.New(intake.Config{
		Connection: e.connection, IDSpace: e.space, Name: "carrier", Tenant: e.tenant, Sealer: e.sealer, Log: e.store, Clock: clock.System{},
		Settle: w.worker.Take, Hand: w.worker.Offer, Logger: log, Key: func(form []byte) intent.Key { return e.identity.Key(form) }, Metrics: intake.NewMetrics(metrics),
	})
	w.worker.Start(ctx)
	return w
}

func (w *receiptWorks) stop(ctx context.Context) error {
	err := w.worker.Stop(ctx)
	w.news.Close()
	return err
}
