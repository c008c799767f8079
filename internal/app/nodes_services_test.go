//go:build services

package app_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store/storetest"
)

// beside is the configuration of another node on the same store, with the first one's keys.
func beside(t *testing.T, first app.Config) app.Config {
	t.Helper()
	c := first
	c.Data = filepath.Join(t.TempDir(), "data")
	must(t, os.MkdirAll(filepath.Join(c.Data, "keys"), 0o700))
	for _, name := range []string{"admin.key", "keys/identity.key", "keys/sealing.key"} {
		b, err := os.ReadFile(filepath.Join(first.Data, name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(c.Data, name), b, 0o600))
	}
	return c
}

// The binds of a connection are shared: who comes gets its part of them, who leaves in order leaves them at once, and the
// carrier never sees one too many.
//
// covers: I9
func TestBindsAreSharedByNodes(t *testing.T) {
	centre := simulator.New(simulator.Config{Binds: 3, Echo: true})
	must(t, centre.Start())
	t.Cleanup(func() { must(t, centre.Close()) })
	c := testConfig(t, storetest.PostgresDatabase(t).String())
	k := c.Connections["simulator"]
	k.Kind, k.Address, k.SystemID, k.Ledger, k.Binds = "smpp", centre.Addr(), "einmal", "", 3
	c.Connections = map[string]app.Connection{"carrier": k}
	one := start(t, c)
	one.until("three binds of one node", func() bool {
		return one.counted(`einmal_bind_slots{connection="carrier"}`, "3") && centre.Bound("einmal") == 3
	})

	two := start(t, beside(t, c))
	two.until("two binds and one", func() bool {
		return one.counted(`einmal_bind_slots{connection="carrier"}`, "2") && two.counted(`einmal_bind_slots{connection="carrier"}`, "1") && centre.Bound("einmal") == 3
	})
	bind := regexp.MustCompile(`"bind":"carrier/[123]"`)
	for _, g := range []*gateway{one, two} {
		id := g.post(alert(g.Addr(), "+12025550100")).at("message.id")
		g.await(id, "delivered")
		g.until("the bind over which it left, in the timeline", func() bool { // the receipt may come before the answer
			return bind.MatchString(g.call(http.MethodGet, "/v1/messages/"+id+"/timeline", nil).Raw)
		})
	}
	one.stop()
	left := time.Now()
	two.until("three binds of the other", func() bool { return centre.Bound("einmal") == 3 })
	if took := time.Since(left); took > time.Second {
		t.Errorf("the binds were idle for %s after an orderly stop", took)
	}
	two.await(two.post(alert("after", "+12025550100")).at("message.id"), "delivered")
}

// A connection's rate is what all nodes hand over together, however many they are.
//
// covers: D19
func TestNodesShareARate(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger")
	centre := simulator.New(simulator.Config{Binds: 2, Echo: true, LedgerPath: ledger})
	must(t, centre.Start())
	t.Cleanup(func() { must(t, centre.Close()) })
	c := testConfig(t, storetest.PostgresDatabase(t).String())
	k := c.Connections["simulator"]
	k.Kind, k.Address, k.SystemID, k.Ledger, k.Binds = "smpp", centre.Addr(), "einmal", "", 2
	must(t, k.Rate.UnmarshalText([]byte("20/s")))
	c.Connections = map[string]app.Connection{"carrier": k}
	one := start(t, c)
	two := start(t, beside(t, c))
	for _, g := range []*gateway{one, two} {
		g.until("a bind for each", func() bool { return g.counted(`einmal_bind_slots{connection="carrier"}`, "1") })
	}
	const many = 60
	var last string
	for n := range many {
		last = []*gateway{one, two}[n%2].post(alert(fmt.Sprint("rate-", n), "+12025550100")).at("message.id")
	}
	one.await(last, "delivered")
	var entries []simulator.Entry
	one.until("all of them", func() bool {
		var err error
		entries, err = simulator.ReadLedger(ledger)
		must(t, err)
		return len(entries) == many
	})
	// Two may leave at once at the beginning; the others are a twentieth of a second apart.
	if took, least := entries[many-1].At.Sub(entries[0].At), (many-3)*time.Second/20; took < least {
		t.Errorf("%d messages left within %s, at a rate of 20/s that takes %s", many, took, least)
	}
	accepted := regexp.MustCompile(`einmal_outcomes_total\{connection="carrier",late="false",outcome="accepted",simulated="false"\} [1-9]`)
	for i, g := range []*gateway{one, two} {
		if !accepted.MatchString(g.call(http.MethodGet, "/metrics", nil).Raw) {
			t.Errorf("node %d has sent nothing", i+1)
		}
	}
}

// Each node sends over a simulator of its own, whatever it was that took the request.
func TestEachNodeHasItsOwnSimulator(t *testing.T) {
	c := testConfig(t, storetest.PostgresDatabase(t).String())
	one := start(t, c)
	other := beside(t, c)
	k := other.Connections["simulator"]
	k.Ledger = filepath.Join(t.TempDir(), "ledger")
	other.Connections = map[string]app.Connection{"simulator": k}
	two := start(t, other)
	for n := 0; one.accepts() == 0 || two.accepts() == 0; n++ {
		if n == 100 {
			t.Fatalf("of %d messages one node sent %d, the other %d", n, one.accepts(), two.accepts())
		}
		g := []*gateway{one, two}[n%2]
		g.await(g.post(alert(time.Now().String(), "+12025550100")).at("message.id"), "delivered")
	}
}

// The node that starts first makes the admin key; another one has none, and is administered with the first one's. A copy of
// the file makes no other.
//
// covers: X1, X5
func TestNodesHaveOneAdminKey(t *testing.T) {
	c := testConfig(t, storetest.PostgresDatabase(t).String())
	one := start(t, c)
	without, with := beside(t, c), beside(t, c)
	must(t, os.Remove(filepath.Join(without.Data, "admin.key")))
	two, three := start(t, without), start(t, with)
	if two.AdminKeyFile() != "" || three.AdminKeyFile() != filepath.Join(with.Data, "admin.key") {
		t.Errorf("%q %q", two.AdminKeyFile(), three.AdminKeyFile())
	}
	two.key = one.key
	for i, g := range []*gateway{one, two, three} {
		if n := g.liveAdmins(); n != 1 {
			t.Errorf("node %d knows of %d admin keys", i+1, n)
		}
	}
}
