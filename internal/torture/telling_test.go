package torture_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// haste makes the pauses of three days a few minutes.
const haste = "EINMAL_WEBHOOK_HASTE=1000"

// telling is the configuration by which a gateway may tell an endpoint of this test.
const telling = `
webhooks: {allow: ["127.0.0.0/8"], http: true}
`

// listener is a tenant's endpoint that fails half the time, in every way. It lives on while gateways die.
type listener struct {
	t    *testing.T
	id   string // of the webhook
	mu   sync.Mutex
	rng  *rand.Rand
	well bool
	told map[string]string // id → body
	read int
}

// listen makes a webhook at the gateway that runs.
func (w *world) listen() *listener {
	w.Helper()
	l := &listener{t: w.T, rng: rand.New(rand.NewPCG(w.load.rng.Uint64(), 1)), told: map[string]string{}}
	server := httptest.NewServer(l)
	w.Cleanup(server.Close)
	var made struct{ ID string }
	if status := w.load.call(http.MethodPost, "/v1/webhooks", "", map[string]any{"url": server.URL}, &made); status != http.StatusCreated {
		w.Fatalf("a webhook was answered with %d", status)
	}
	l.id = made.ID
	return l
}

func (l *listener) mood() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.well {
		return -1
	}
	return l.rng.IntN(100)
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mood := l.mood()
	if mood >= 0 && mood < 12 { // it resets before it has read
		breakOff(w)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the gateway was killed on the way
	}
	l.hear(r.Header.Get("webhook-id"), string(body))
	switch {
	case mood >= 12 && mood < 24: // it has read, and resets
		breakOff(w)
	case mood == 24: // it says nothing for a while, and never does
		select {
		case <-r.Context().Done():
		case <-time.After(time.Second):
			breakOff(w)
		}
	case mood > 24 && mood < 50:
		w.WriteHeader(http.StatusInternalServerError)
	default:
		w.WriteHeader(http.StatusOK)
	}
}

func breakOff(w http.ResponseWriter) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_ = c.(*net.TCPConn).SetLinger(0) // a reset, not an end
	_ = c.Close()
}

func (l *listener) hear(id, body string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, again := l.told[id]; again && known != body {
		l.t.Errorf("%s was told as\n%s\nand again as\n%s", id, known, body)
	}
	l.told[id] = body
	l.read++
}

// tellingPasses bounds the pass at which a point of telling ends the process.
var tellingPasses = map[chaos.Point]int{chaos.WebhookClaimed: 4, chaos.WebhookPosted: 8}

// killTelling has a gateway killed while it tells an endpoint of what happens.
func (w *world) killTelling(point chaos.Point, l *listener, intents int) {
	w.Helper()
	p := w.startWith("node", fmt.Sprintf("%s:%d", point, 1+w.load.rng.IntN(tellingPasses[point])), haste)
	if l == nil {
		l = w.listen()
		defer func() { w.told(l) }()
	}
	w.load.until(w.load.wished()+intents, p.over)
	w.load.paced(w.load.wished()+most, rest, p.over)
	p.died(tellingLease)
	w.killed(p)
}

// tellingLease is longer than what a dead gateway had claimed is left to it.
const tellingLease = 50 * time.Second

// Gateways that are killed again and again, at every moment of telling and at any other, and an endpoint that fails half the
// time: every event that is in the store arrives or is a dead letter that can be seen, repeats have the same id and the same
// bytes, and nothing is told that is not in the store.
//
// covers: I12
func TestTellingSurvivesKills(t *testing.T) {
	onEveryStore(t, func(w *world) {
		w.telling = true
		// Gateways that live for a moment send little: what has heaped up must not wait for connections that break (12, 13) or
		// slow down (03). With those in the load 33 kills on either store tell everything as well; after a hundred the heap may
		// outlast the time to settle, and what still moves when the last gateway stops is neither told nor given up.
		w.load.endings = []string{"00", "00", "00", "01", "02", "06", "08", "11"}
		p := w.startWith("node", "", haste)
		l := w.listen()
		w.stop(p)
		for n := range times(100) {
			if point := chaos.WebhookPosted; n%3 < 2 {
				if n%3 == 1 {
					point = chaos.WebhookClaimed
				}
				w.killTelling(point, l, 3)
				continue
			}
			p := w.startWith("node", "", haste)
			w.load.until(w.load.wished()+3, p.over)
			<-time.After(time.Duration(w.load.rng.IntN(300)) * time.Millisecond) // any moment
			p.signal(syscall.SIGKILL)
			p.died(patience)
			w.killed(p)
		}
		w.told(l)
		if l.read <= len(l.told) {
			t.Error("nothing was told twice: nothing went wrong here")
		}
	})
}

// told starts a gateway that nothing happens to, lets it tell everything, and compares.
func (w *world) told(l *listener) {
	w.Helper()
	w.toldBy(l, w.startWith("node", "", haste))
}

// toldBy is told by gateways that run already.
func (w *world) toldBy(l *listener, nodes ...*process) {
	w.Helper()
	l.mu.Lock()
	l.well = true
	l.mu.Unlock()
	w.over = clock.FromTime(time.Now())
	w.operator.leave()
	w.load.repeat()
	w.settle()
	w.settleBy(func() string { return cmp.Or(w.untold(l), w.owed()) }) // what still moves is an event that is to be told
	for _, p := range nodes {
		w.stop(p)
	}
	w.check()
	s, err := w.engine.open()
	must(w, err)
	defer func() { must(w, s.Close()) }()
	w.compareTold(s, l)
}

// untold says what the gateway has not told yet.
func (w *world) untold(l *listener) string {
	for _, state := range []string{"pending", "delivering"} {
		var page struct{ Data []struct{ ID string } }
		if status := w.load.call(http.MethodGet, "/v1/webhooks/"+l.id+"/deliveries?state="+state, "", nil, &page); status != http.StatusOK || len(page.Data) > 0 {
			return fmt.Sprintf("%d deliveries that are %s (%d)", len(page.Data), state, status)
		}
	}
	return ""
}

// compareTold holds what an endpoint has heard against the store.
func (w *world) compareTold(s store.Store, l *listener) {
	w.Helper()
	ctx := context.Background()
	tenant, err := s.EnsureTenant(ctx, "default")
	must(w, err)
	var id ident.Webhook
	must(w, id.UnmarshalText([]byte(l.id)))
	dead, err := s.ListDeliveries(ctx, tenant, id, webhook.Dead, 1<<62, 1<<20)
	must(w, err)
	given, events := map[string]bool{}, map[string]store.FeedEvent{}
	for _, d := range dead {
		given[eventID(&d.Event)] = true
	}
	for seq := int64(0); ; {
		page, err := s.After(ctx, tenant, seq, 1000)
		must(w, err)
		if len(page) == 0 {
			break
		}
		for i := range page {
			e := eventID(&page[i])
			seq, events[e] = page[i].Seq, page[i]
			if _, heard := l.told[e]; !heard && !given[e] {
				w.Errorf("%s neither arrived nor was given up", e)
			}
		}
	}
	for e, body := range l.told {
		stored, there := events[e]
		var got struct {
			ID       string
			Sequence int64
			Data     struct{ Message struct{ ID, State string } }
		}
		err := json.NewDecoder(bytes.NewReader([]byte(body))).Decode(&got)
		if !there || err != nil || got.ID != e || got.Sequence != stored.Seq || got.Data.Message.ID != stored.Message.String() || got.Data.Message.State != stored.To.String() {
			w.Errorf("told was %s, and stored is %+v (%v): %v", body, stored, there, err)
		}
	}
	w.Logf("%d events were told %d times by %d gateways, %d were given up", len(events), l.read, w.nodes, len(dead))
	if len(events) == 0 {
		w.Error("there were no events")
	}
}

func eventID(e *store.FeedEvent) string {
	return fmt.Sprintf("evt_%s_%d", hex.EncodeToString(e.Message[:]), e.Seq)
}
