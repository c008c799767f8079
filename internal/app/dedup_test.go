package app_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/einmal/einmal/internal/app"
)

// many is how many identical requests are made at once.
const many = 200

// race posts the requests at the same moment and counts the statuses and the messages that they name.
func (g *gateway) race(n int, body func(i int) map[string]any, header func(i int) []string) (statuses map[int]int, messages map[string]int, replays int) {
	g.t.Helper()
	var (
		mu sync.Mutex
		wg sync.WaitGroup
	)
	statuses, messages = map[int]int{}, map[string]int{}
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			r := g.post(body(i), header(i)...)
			mu.Lock()
			defer mu.Unlock()
			statuses[r.Status]++
			if id := r.at("message.id"); id != "" {
				messages[id]++
			}
			if r.Header.Get("Idempotency-Replayed") == "true" {
				replays++
			}
		})
	}
	close(start)
	wg.Wait()
	return statuses, messages, replays
}

func noHeader(int) []string { return nil }

func only[K comparable](m map[K]int) (key K) {
	for key = range m {
		return key
	}
	return key
}

// covers: D2, D7, I2
func TestParallelIdenticalRequests(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, c)
		for name, kind := range map[string]struct {
			event  string
			body   func(i int) map[string]any
			header func(i int) []string
		}{
			"no key": {"P-1", func(int) map[string]any { return order("P-1", "1", "+12025550100") }, noHeader},
			"other keys": {"P-2", func(int) map[string]any { return order("P-2", "1", "+12025550100") },
				func(i int) []string { return []string{"Idempotency-Key", fmt.Sprintf(`"k-%d"`, i)} }},
			"spellings": {"P-3", func(i int) map[string]any { return order("P-3", "1", spelling(i)) }, noHeader},
		} {
			statuses, messages, _ := g.race(many, kind.body, kind.header)
			if statuses[201] != 1 || statuses[200] != many-1 || len(messages) != 1 || messages[only(messages)] != many {
				t.Fatalf("%s: statuses %v, messages %v", name, statuses, messages)
			}
			g.await(only(messages), "delivered")
		}
		if n := g.accepts(); n != 3 {
			t.Errorf("the carrier accepted %d messages, want 3", n)
		}
		g.stop()
		again := start(t, c)
		r := again.post(order("P-1", "1", "+12025550100"))
		if r.Status != 200 || r.at("decision.reason") != "same_intent_delivered" {
			t.Errorf("after a restart: %d %s", r.Status, r.Raw)
		}
	})
}

// spelling writes one number in many ways.
func spelling(i int) string {
	separators := []string{"", " ", "-", ".", "\u00a0", "\u2011", "\u202a", "\u2060"}
	plus := []string{"+", "\uff0b", " +", "\u200e+"}
	s, sep := plus[i%len(plus)], separators[i/len(plus)%len(separators)]
	for k, d := range "12025550100" {
		if k == 1 || k == 4 || k == 7 {
			s += sep
		}
		if i >= many/2 {
			d = d - '0' + '\uff10'
		}
		s += string(d)
	}
	return s
}

// covers: D8
func TestOneIdempotencyKey(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, c)
		key := func(int) []string { return []string{"Idempotency-Key", "one"} }
		statuses, messages, replays := g.race(many, func(int) map[string]any { return order("K-1", "1", "+12025550100") }, key)
		if statuses[201]+statuses[409] != many || statuses[201] == 0 || len(messages) != 1 || replays != statuses[201]-1 {
			t.Fatalf("statuses %v, messages %v, replays %d", statuses, messages, replays)
		}
		first := g.post(order("K-1", "1", "+12025550100"), key(0)...)
		g.await(only(messages), "delivered")
		later := g.post(order("K-1", "1", "+12025550100"), key(0)...)
		if first.Raw != later.Raw || later.Status != 201 || later.Header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("a replay differs after the message has moved on:\n%s\n%s", first.Raw, later.Raw)
		}
		other := g.post(order("K-2", "1", "+12025550100"), key(0)...)
		if other.Status != 422 || other.at("code") != "idempotency_mismatch" {
			t.Errorf("another request under the key: %d %s", other.Status, other.Raw)
		}
		reordered := `{"text":"Your order K-1 is confirmed.",  "purpose":"order_confirmation", "event":{"version":"1","id":"K-1","type":"order"},"to":"+12025550100"}`
		if r := g.post(reordered, key(0)...); r.Status != 201 || r.Raw != first.Raw {
			t.Errorf("the same content in another order: %d %s", r.Status, r.Raw)
		}
		if r := g.post(order("K-2", "1", "+12025550100")); r.Status != 201 {
			t.Errorf("the refused request held its intent: %s", r.Raw)
		}
	})
}

// covers: D1, D17
func TestWhatMakesAnIntent(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, c)
		base := func() map[string]any { return order("W-1", "1", "+12025550100") }
		with := func(name string, value any) map[string]any {
			b := base()
			b[name] = value
			return b
		}
		ids := map[string]bool{}
		for _, body := range []map[string]any{
			base(), with("sender", "SHOP"), with("sender", "OTHER"), with("to", "+12025550199"),
			with("purpose", "delivery_update"), with("event", map[string]any{"id": "W-1", "version": "2"}), with("event", map[string]any{"id": "W-2", "version": "1"}),
		} {
			r := g.post(body)
			if r.Status != http.StatusCreated {
				t.Fatalf("%v: %d %s", body, r.Status, r.Raw)
			}
			ids[r.at("message.id")] = true
		}
		if len(ids) != 7 {
			t.Errorf("%d messages for 7 intents", len(ids))
		}
		r := g.post(with("text", "Something else."))
		if r.Status != 200 || r.at("decision.action") != "suppress" || r.at("decision.same_text") != "false" {
			t.Errorf("another text was swallowed: %s", r.Raw)
		}
		r = g.post(with("dry_run", true))
		if r.Status != 200 || r.at("decision.action") != "suppress" || r.at("decision.same_text") != "true" {
			t.Errorf("a dry run of a duplicate: %d %s", r.Status, r.Raw)
		}
	})
}

// A caller who names no purpose is served, told what would have been done, and swallows nothing.
//
// covers: D18, X3
func TestToAndTextAlone(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, c)
		bare := map[string]any{"to": "+12025550100", "text": "Hello."}
		first, again := g.post(bare), g.post(bare)
		if first.Status != 201 || first.at("decision.rule") != "unnamed.window" || first.at("decision.mode") != "monitor" || first.at("decision.would") != "" {
			t.Errorf("the first: %d %s", first.Status, first.Raw)
		}
		if again.Status != 201 || again.at("decision.class") != "technical_duplicate" || again.at("decision.would") != "suppress" ||
			again.at("decision.compared_with") != first.at("message.id") || again.at("message.id") == first.at("message.id") {
			t.Errorf("the same again: %d %s", again.Status, again.Raw)
		}
		for _, r := range []reply{first, again} {
			if m := g.await(r.at("message.id"), "delivered"); m.at("purpose") != "unnamed" {
				t.Errorf("the message: %s", m.Raw)
			}
		}
		if d := g.call("GET", "/v1/decisions/"+again.at("decision.id"), nil); d.at("would") != "suppress" || d.at("mode") != "monitor" {
			t.Errorf("its decision: %s", d.Raw)
		}
	})
}
