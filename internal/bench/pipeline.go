package bench

import (
	"context"
	"errors"
	"fmt"
)

const (
	leastOfKannelEmbedded = 2
	leastOfKannel         = 1
	mostMemory            = 150 // MiB
	mostRows              = 13
	mostBytes             = 2048
)

// Pipeline measures the whole way: HTTP, decision, SMPP, receipt, projection, event. The message centre is a
// process of its own, and Kannel sends to the same one.
func Pipeline(ctx context.Context, o Options) (*Report, error) {
	b, err := start(ctx, "pipeline", o)
	if err == nil {
		err = b.pipeline(ctx)
	}
	return b.end(err)
}

func (b *bench) pipeline(ctx context.Context) (err error) {
	s, err := newScratch(ctx, b.Options)
	if err != nil {
		return err
	}
	defer closing(&err, s)
	centre, err := b.startSMSC(ctx, s)
	if err != nil {
		return err
	}
	defer closing(&err, centre)
	connection := smppTo(centre.ready.Listen)
	connection["window"] = inFlight
	connection["lookup"] = members{"by": []string{"own_reference"}, "source": "the simulator echoes user_message_reference"}
	g, err := b.serve(ctx, s, connection)
	if err != nil {
		return err
	}
	defer closing(&err, g)
	p := &pipe{b: b, scratch: s, centre: centre, gateway: g, load: newLoad(g.url, g.key)}
	defer p.load.Close()
	if p.customer, err = newCustomer(ctx, p.load); err != nil {
		return err
	}
	defer closing(&err, p.customer)
	return p.measure(ctx)
}

// inFlight is how many submissions may be unanswered, ours and Kannel's.
const inFlight = 256

type pipe struct {
	b       *bench
	scratch *scratch
	centre  *smsc
	gateway *gateway
	load    *load
	// customer is a prepaid tenant with an endpoint: what its messages do beside is money and webhooks.
	customer *customer
	sent     int
	most     float64 // memory
}

func (p *pipe) measure(ctx context.Context) (err error) {
	plain, full := &way{pipe: p, load: p.load}, &way{pipe: p, load: p.customer.load, told: &p.customer.endpoint.delivered}
	sides := []side{{"einmal", plain.messages}, {"einmal, with wallet and webhooks", full.messages}}
	kannel, missing := p.startKannel(ctx)
	if missing == nil {
		defer closing(&err, kannel)
		sides = append(sides, side{"Kannel", kannel.messages}, side{"Kannel, with receipts", kannel.withReceipts})
	}
	if err := p.warmUp(ctx, sides); err != nil {
		return err
	}
	plain.grown, full.grown = growth{}, growth{}
	all, err := p.b.turns(ctx, "pipeline", sides...)
	if err != nil {
		return err
	}
	p.compare(all, sides, missing)
	p.inventory(plain.grown, full.grown)
	return nil
}

// warmUp sends a few messages over each way.
func (p *pipe) warmUp(ctx context.Context, sides []side) error {
	full := p.b.Count
	p.b.Count = min(full, warmUp)
	defer func() { p.b.Count = full }()
	for _, s := range sides {
		p.b.Progress("pipeline: warming up "+s.name, 0, 0)
		if _, err := s.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func (p *pipe) compare(all [][]sample, sides []side, missing error) {
	goal := atLeast(leastOfKannel)
	if p.b.Store == sqliteStore {
		goal = atLeast(leastOfKannelEmbedded)
	}
	us, full := merge(sides[0].name, all[0]), merge(sides[1].name, all[1])
	told := float64(p.customer.endpoint.told.Load()) / float64(max(p.customer.endpoint.delivered.Load(), 1))
	p.b.add(ratio("messages with wallet and webhooks / without", nil, full, us, all[1], all[0]),
		figure("requests to the endpoint", told, "a message", nil))
	if missing != nil {
		for _, ours := range []*Side{us, full} {
			l := unmeasured("messages through the pipeline / Kannel 1.4.5 with its spool", "ratio", goal, missing.Error())
			l.Ours = ours
			p.b.add(l)
		}
		return
	}
	kannel := merge(sides[2].name, all[2])
	p.b.add(ratio("messages through the pipeline / Kannel 1.4.5 with its spool", goal, us, kannel, all[0], all[2]),
		ratio("the same with wallet and webhooks", goal, full, kannel, all[1], all[2]),
		ratio("messages through the pipeline / Kannel with receipts called back", nil, us, merge(sides[3].name, all[3]), all[0], all[3]))
}

// inventory is what the messages left in the store, and the gateway's memory.
func (p *pipe) inventory(plain, full growth) {
	var rows, bytes *Goal // they are set for PostgreSQL
	if p.b.Store != sqliteStore {
		rows, bytes = atMost(mostRows), atMost(mostBytes)
	}
	now, most := resident(p.gateway.pid())
	p.b.add(figure("rows of a message that stay", plain.rows(), "rows", rows),
		figure("with wallet and webhooks", full.rows(), "rows", rows),
		figure("size of a message in the store, indexes included", plain.bytes(), "bytes", bytes),
		figure("with wallet and webhooks", full.bytes(), "bytes", bytes),
		figure("memory of the gateway under the load", p.most, "MiB", atMost(mostMemory)),
		figure("memory of the gateway afterwards", now, "MiB", nil),
		figure("memory of the gateway at its most", most, "MiB", nil))
}

// receipts is how many receipts have moved their message so far.
func (p *pipe) receipts(ctx context.Context) (int, error) {
	n, err := p.load.metric(ctx, `einmal_receipts_total{connection="carrier",effect="applied",simulated="false"}`)
	return int(n), err
}

var errNoKannel = errors.New("no Kannel here; on Debian: apt-get install kannel")
