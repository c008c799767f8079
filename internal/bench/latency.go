package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/domain/request"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// What a code's way to the wire should take at most at p99, in milliseconds.
const (
	mostIdle   = 50
	mostLoaded = 250
)

// LatencyOptions are Options with what waits.
type LatencyOptions struct {
	Options
	// Pending is how many campaign messages wait while codes are sent. They leave at so many a second.
	Pending, Rate int
	// Every is how long after one code the next is asked for.
	Every time.Duration
}

// latencyPolicy has a purpose of each kind that is needed.
const latencyPolicy = `policy: bench
version: 1
purposes:
  login_code:
    kind: authentication
    key: [event.id, event.version]
    window: {while: [], at_most: 10m}
  sale:
    kind: campaign
    key: [event.id]
    window: 7d
`

// Latency measures how long a code takes to the wire: from its request to the message centre's ledger, idle and with a
// campaign waiting. The message centre writes the time at which it read the submission, so what is measured is a little
// more than the gateway's own part.
func Latency(ctx context.Context, o LatencyOptions) (*Report, error) {
	b, err := start(ctx, "latency", o.Options)
	if err == nil {
		err = b.latency(ctx, o)
	}
	return b.end(err)
}

func (b *bench) latency(ctx context.Context, o LatencyOptions) (err error) {
	s, err := newScratch(ctx, b.Options)
	if err != nil {
		return err
	}
	defer closing(&err, s)
	if err := os.WriteFile(s.path("policy.yaml"), []byte(latencyPolicy), 0o600); err != nil {
		return err
	}
	s.policy = &store.PolicyVersion{Name: "bench", Version: 1, Source: []byte(latencyPolicy)}
	centre, err := b.startSMSC(ctx, s)
	if err != nil {
		return err
	}
	defer closing(&err, centre)
	l := &latency{bench: b, scratch: s, centre: centre, o: o}
	if err := l.phase(ctx, "a code on the wire, idle", mostIdle); err != nil {
		return err
	}
	if o.Pending == 0 {
		return nil
	}
	if err := l.fill(ctx); err != nil {
		return fmt.Errorf("filling the store: %w", err)
	}
	return l.phase(ctx, fmt.Sprintf("a code on the wire, %d campaign messages pending", o.Pending), mostLoaded)
}

type latency struct {
	*bench
	scratch *scratch
	centre  *smsc
	o       LatencyOptions
	codes   int // sent so far
}

// phase sends codes through a gateway of its own and adds their percentiles.
func (l *latency) phase(ctx context.Context, what string, most float64) (err error) {
	connection := smppTo(l.centre.ready.Listen)
	connection["rate"] = fmt.Sprintf("%d/s", l.o.Rate)
	g, err := l.serve(ctx, l.scratch, connection)
	if err != nil {
		return err
	}
	defer closing(&err, g)
	clients := newLoad(g.url, g.key)
	defer clients.Close()
	const first = 20 // they find cold caches and are not counted
	took, err := l.send(ctx, clients, what, first+l.Count)
	if err != nil {
		return err
	}
	p := percentiles(took[first:])
	for _, f := range []struct {
		name  string
		value float64
		goal  *Goal
	}{{"p50", p.P50, nil}, {"p95", p.P95, nil}, {"p99", p.P99, atMost(most)}, {"max", p.Max, nil}} {
		l.add(figure(what+", "+f.name, f.value, "ms", f.goal))
	}
	return nil
}

// send asks for codes one after another and reads in the ledger when each came.
func (l *latency) send(ctx context.Context, clients *load, what string, n int) ([]time.Duration, error) {
	asked := make(map[string]time.Time, n)
	tick := time.NewTicker(l.o.Every)
	defer tick.Stop()
	for range n {
		number := codeNumber(l.codes)
		l.codes++
		asked[strings.TrimPrefix(number, "+")] = time.Now()
		body := fmt.Appendf(nil, `{"to":%q,"purpose":"login_code","event":{"id":"login-%d","version":"1"},"sender":"SHOP","text":"Your code is 000000."}`, number, l.codes)
		if err := clients.post(ctx, body, http.StatusCreated); err != nil {
			return nil, err
		}
		l.Progress(what, len(asked), n)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	var took []time.Duration
	err := l.until(ctx, what, n, func() (count int, err error) {
		took, err = l.arrived(asked)
		return len(took), err
	})
	return took, err
}

// codeNumber is a number that no order goes to.
func codeNumber(n int) string { return fmt.Sprintf("+1303%05d15", 20000+n) }

// arrived reads the whole ledger and returns how long each of the messages took, in the order in which they came.
func (l *latency) arrived(asked map[string]time.Time) (took []time.Duration, err error) {
	f, err := os.Open(l.scratch.path("ledger"))
	if err != nil {
		return nil, err
	}
	defer closing(&err, f)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var entry struct {
			At          time.Time `json:"at"`
			Destination string    `json:"destination"`
		}
		if json.Unmarshal(lines.Bytes(), &entry) != nil {
			continue // the last line is being written
		}
		if at, ours := asked[entry.Destination]; ours {
			took = append(took, entry.At.Sub(at))
		}
	}
	return took, nil
}

// fill makes the campaign, in this process, as its requests would: nothing but HTTP is left out. The gateway does not
// run meanwhile, so all of it is pending.
func (l *latency) fill(ctx context.Context) (err error) {
	e, err := l.scratch.startEngine(ctx)
	if err != nil {
		return err
	}
	defer closing(&err, e)
	const piece = 20_000
	for done := 0; done < l.o.Pending; done += piece {
		l.Progress("filling the store", done, l.o.Pending)
		_, err := inParallel(ctx, callers, min(piece, l.o.Pending-done), func(i int) error { return e.sell(ctx, done+i) })
		if err != nil {
			return err
		}
	}
	return l.claims(ctx, e)
}

func (e *engine) sell(ctx context.Context, n int) error {
	a, err := e.outbound.Submit(ctx, outbound.Submission{
		Tenant: e.tenant, Caller: "bench", Operation: "POST /v1/messages", Members: request.Members{
			To: destination(n), Purpose: "sale", Sender: "SHOP",
			Event: intent.Event{Type: "sale", ID: "spring", Version: "1"}, Text: "Everything must go. " + orderID(n),
		},
	})
	if err == nil && a.Decision.Action != intent.Allow {
		err = fmt.Errorf("campaign message %d was not allowed: %s", n, a.Decision.Reason)
	}
	return err
}

// claimed is how many messages one claim takes here at most.
const claimed = 20

// claims measures what claiming costs with all that waits: the campaign's next messages, and a code that comes in
// between. What was claimed is due again when its lease is over.
func (l *latency) claims(ctx context.Context, e *engine) error {
	const most = 50
	tries := min(most, max(1, l.o.Pending/claimed/4))
	campaign, code := make([]time.Duration, tries), make([]time.Duration, tries)
	w := &claimer{engine: e, node: ident.NewNode()}
	for i := range tries {
		if _, err := w.claim(ctx, &campaign[i]); err != nil {
			return err
		}
		a, err := e.submitCode(ctx, i)
		if err != nil {
			return err
		}
		got, err := w.claim(ctx, &code[i])
		if err == nil && got[0].Message != a {
			err = errors.New("a campaign message was claimed before a code")
		}
		if err != nil {
			return err
		}
	}
	for _, f := range []struct {
		what string
		took []time.Duration
	}{{fmt.Sprintf("a claim of %d", claimed), campaign}, {"a claim that a code is in", code}} {
		slices.Sort(f.took)
		l.add(figure(fmt.Sprintf("%s with %d campaign messages pending, p50", f.what, l.o.Pending), ms(f.took[tries/2]), "ms", nil),
			figure("the same, p95", ms(f.took[tries*95/100]), "ms", nil))
	}
	return nil
}

// claimer claims as a node does.
type claimer struct {
	engine *engine
	node   ident.Node
	turns  flow.Turns
}

func (w *claimer) claim(ctx context.Context, took *time.Duration) ([]store.Claimed, error) {
	began := time.Now()
	got, err := w.engine.store.Claim(ctx, store.ClaimSpec{
		Node: w.node, Connection: w.engine.connection, Room: flow.Room{All: claimed, Lower: claimed}, Turns: &w.turns, Lease: time.Second,
	})
	*took = time.Since(began)
	if err == nil && len(got.Taken) == 0 {
		err = errors.New("nothing could be claimed")
	}
	return got.Taken, err
}

// claimCodes is where the numbers of these codes begin: those of the phases are below.
const claimCodes = 50_000

func (e *engine) submitCode(ctx context.Context, n int) (ident.Message, error) {
	a, err := e.outbound.Submit(ctx, outbound.Submission{
		Tenant: e.tenant, Caller: "bench", Operation: "POST /v1/messages", Members: request.Members{
			To: codeNumber(claimCodes + n), Purpose: "login_code", Sender: "SHOP",
			Event: intent.Event{ID: fmt.Sprintf("claim-%d", n), Version: "1"}, Text: "Your code is 000000.",
		},
	})
	return a.Decision.Message.ID, err
}

// builtinPolicy is in force where a run brings no other.
func builtinPolicy() store.PolicyVersion {
	p := policy.Builtin()
	return store.PolicyVersion{Name: p.Name, Version: p.Version, Source: policy.BuiltinSource()}
}
