package outbound

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/sqlite"
)

// engines open one store for two nodes: over one connection to it, or over one each.
var engines = map[string]func(t *testing.T) [2]store.Store{
	"sqlite": func(t *testing.T) [2]store.Store {
		st, err := sqlite.Open(bg, sqlite.Options{Path: filepath.Join(t.TempDir(), "einmal.db"), Log: discard})
		if err != nil {
			t.Fatal(err)
		}
		closeWith(t, st)
		return [2]store.Store{st, st}
	},
}

func closeWith(t *testing.T, st store.Store) {
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
}

// twoNodes are two services on one store.
func twoNodes(t *testing.T, open func(*testing.T) [2]store.Store) (nodes [2]*Service, tenant ident.Partition) {
	stores := open(t)
	tenant, err := stores[0].EnsureTenant(bg, "shop")
	if err != nil {
		t.Fatal(err)
	}
	conn, _, err := stores[0].EnsureConnection(bg, "simulator", "")
	if err != nil {
		t.Fatal(err)
	}
	for i, st := range stores {
		nodes[i] = New(Config{
			Store: st, Identity: secret.NewIdentity([secret.KeySize]byte{1}), Sealer: secret.NewSealer([secret.KeySize]byte{2}, st),
			Clock: clock.System{}, Policy: version(1, testPolicy), Route: always(Connection{ID: conn}), Simulated: func(int64) bool { return true }, Sender: "SHOP", Log: discard,
		})
		t.Cleanup(nodes[i].Close)
		if err := nodes[i].Start(bg); err != nil {
			t.Fatal(err)
		}
	}
	return nodes, tenant
}

// What one node brings into force is what the other decides under from that moment on, whatever it was deciding
// meanwhile; and a window that began under an older key of the purpose is found by both.
//
// covers: X3, D6, D7
func TestTwoNodesDecideUnderOnePolicy(t *testing.T) {
	keys := []string{"event.id", "event.id, event.version", "event.id, sender", "event.id, event.type", "event.id"}
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			nodes, tenant := twoNodes(t, open)
			ask := func(node int, id string) Answer {
				s := order(id)
				s.Tenant = tenant
				a, err := nodes[node].Submit(bg, s)
				if err != nil {
					t.Error(err)
				}
				return a
			}
			first := ask(0, "first")
			end := make(chan struct{})
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() { askUntil(end, ask, i) })
			}
			for n, key := range keys {
				applied, changed, err := nodes[n%2].ApplyPolicy(bg, "shop.yaml", keyedBy(n+2, key).Source, "ann")
				if err != nil || !changed || applied.By != "ann" {
					t.Fatalf("version %d: %+v, %v", n+2, applied, err)
				}
				for node := range nodes {
					a := ask(node, "first")
					if a.Decision.PolicyID != applied.ID() || a.Decision.Action != intent.Suppress || a.Decision.Message.ID != first.Decision.Message.ID {
						t.Errorf("under %s node %d says %+v", applied.ID(), node, a.Decision)
					}
				}
				if a := ask((n+1)%2, fmt.Sprint("new ", n)); a.Decision.PolicyID != applied.ID() || a.Decision.Action != intent.Allow {
					t.Errorf("a new intent under %s: %+v", applied.ID(), a.Decision)
				}
			}
			close(end)
			wg.Wait()
		})
	}
}

// askUntil keeps a node busy with intents of its own.
func askUntil(end chan struct{}, ask func(node int, id string) Answer, n int) {
	for i := 0; ; i++ {
		select {
		case <-end:
			return
		default:
			ask(n%2, fmt.Sprint("busy ", n, " ", i))
		}
	}
}
