package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
	sent    int
	most    float64 // memory
}

func (p *pipe) measure(ctx context.Context) (err error) {
	sides := []side{{"einmal", p.messages}}
	kannel, missing := p.startKannel(ctx)
	if missing == nil {
		defer closing(&err, kannel)
		sides = append(sides, side{"Kannel", kannel.messages}, side{"Kannel, with receipts", kannel.withReceipts})
	}
	if err := p.warmUp(ctx, sides); err != nil {
		return err
	}
	before, err := p.scratch.size(ctx)
	if err != nil {
		return err
	}
	from := p.sent
	all, err := p.b.turns(ctx, "pipeline", sides...)
	if err != nil {
		return err
	}
	p.compare(all, sides, missing)
	return p.inventory(ctx, before, p.sent-from)
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
	us := merge(sides[0].name, all[0])
	if missing != nil {
		l := unmeasured("messages through the pipeline / Kannel 1.4.5 with its spool", "ratio", goal, missing.Error())
		l.Ours = us
		p.b.add(l)
		return
	}
	p.b.add(ratio("messages through the pipeline / Kannel 1.4.5 with its spool", goal, us, merge(sides[1].name, all[1]), all[0], all[1]),
		ratio("messages through the pipeline / Kannel with receipts called back", nil, us, merge(sides[2].name, all[2]), all[0], all[2]))
}

// inventory is what the messages left in the store, and the gateway's memory.
func (p *pipe) inventory(ctx context.Context, before size, messages int) error {
	after, err := p.scratch.size(ctx)
	if err != nil {
		return err
	}
	var rows, bytes *Goal // they are set for PostgreSQL
	if p.b.Store != sqliteStore {
		rows, bytes = atMost(mostRows), atMost(mostBytes)
	}
	now, most := resident(p.gateway.pid())
	p.b.add(figure("rows of a message that stay", float64(after.rows-before.rows)/float64(messages), "rows", rows),
		figure("size of a message in the store, indexes included", float64(after.bytes-before.bytes)/float64(messages), "bytes", bytes),
		figure("memory of the gateway under the load", p.most, "MiB", atMost(mostMemory)),
		figure("memory of the gateway afterwards", now, "MiB", nil),
		figure("memory of the gateway at its most", most, "MiB", nil))
	return nil
}

// messages sends new intents and waits until the receipt of each has had its effect and the last event has its
// place in the feed.
func (p *pipe) messages(ctx context.Context) (sample, error) {
	before, err := p.receipts(ctx)
	if err != nil {
		return sample{}, err
	}
	from := p.sent
	p.sent += p.b.Count
	m := p.b.meter(p.gateway.pid())
	lat, err := inParallel(ctx, connections, p.b.Count, func(i int) error {
		return p.load.post(ctx, orderBody(from+i), http.StatusCreated)
	})
	if err != nil {
		return sample{}, err
	}
	now, _ := resident(p.gateway.pid())
	p.most = max(p.most, now)
	err = p.b.until(ctx, "pipeline: receipts", before+p.b.Count, func() (int, error) { return p.receipts(ctx) })
	if err == nil {
		err = p.b.until(ctx, "pipeline: events that wait", 0, func() (int, error) { return p.scratch.waiting(ctx) })
	}
	return m.stop(p.b.Count, lat), err
}

// receipts is how many receipts have moved their message so far.
func (p *pipe) receipts(ctx context.Context) (int, error) {
	n, err := p.load.metric(ctx, `einmal_receipts_total{connection="carrier",effect="applied",simulated="false"}`)
	return int(n), err
}

var errNoKannel = errors.New("no Kannel here; on Debian: apt-get install kannel")
