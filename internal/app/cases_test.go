package app_test

import (
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
)

// An answer that comes after the response timer: the outcome is unknown until then, nothing is sent a second time,
// and the answer is still matched by its sequence number.
//
// covers: C02, D9, I5
func TestLateAnswer(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, func(k *app.Connection) { k.ResponseTimeout = app.Duration(200 * time.Millisecond) })
		g := start(t, c)
		r := g.post(alert("C02", "+12025550143"))
		submit := m.next()
		id := r.at("message.id")
		g.await(id, "unknown")
		again := g.post(alert("C02", "+12025550143"))
		if again.Status != 200 || again.at("message.state") != "unknown" || again.at("decision.reason") != "same_intent_unknown" {
			t.Errorf("a repeat while the outcome is unknown: %d %s", again.Status, again.Raw)
		}
		m.accept(submit, "A1B2")
		g.await(id, "accepted")
		m.receipt(submit, "id:A1B2 sub:001 dlvrd:001 submit date:2601020304 done date:2601020305 stat:DELIVRD err:000 text:")
		g.await(id, "delivered")
		if len(m.submitted) != 0 {
			t.Error("it was submitted again")
		}
	})
}

// One key, another payload, while the first message is still on its way to the provider. A request is answered when
// its decision is durable and not when the provider has spoken, so that the repeat is told no "in progress": it gets
// the first answer at once.
//
// covers: C03, D8
func TestOtherPayloadUnderOneKey(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, nil)
		g := start(t, c)
		key := []string{"Idempotency-Key", "K"}
		a, b := alert("C03", "+12025550143"), alert("C03", "+12025550144")
		first := g.post(a, key...)
		submit := m.next()
		check := func(when string) {
			if r := g.post(b, key...); r.Status != 422 || r.at("code") != "idempotency_mismatch" {
				t.Errorf("%s, another payload: %d %s", when, r.Status, r.Raw)
			}
			if r := g.post(a, key...); r.Status != 201 || r.Raw != first.Raw || r.Header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("%s, the same payload: %d %s", when, r.Status, r.Raw)
			}
		}
		check("while it is being sent")
		m.accept(submit, "m1")
		g.await(first.at("message.id"), "accepted")
		check("after it was accepted")
		spaced := `{ "text":"Attention, please.","purpose" : "alert","event":{"version":"1", "id":"C03"}, "to":"+12025550143"}`
		if r := g.post(spaced, key...); r.Status != 201 || r.Raw != first.Raw {
			t.Errorf("the same content in another order: %d %s", r.Status, r.Raw)
		}
		if len(m.submitted) != 0 {
			t.Error("something was submitted again")
		}
	})
}

// Two idempotency keys for one business event: one message, whichever key came first and however the number is spelt.
//
// covers: C05, D1, D7
func TestTwoKeysForOneEvent(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, nil)
		g := start(t, c)
		shipped := func(i int) map[string]any {
			b := order("ord-7", "3", []string{"+1 (202) 555-0143", "2025550143"}[i%2])
			b["region"], b["sender"], b["template"] = "US", "SHOP", map[string]any{"id": "shipped", "version": "3"}
			return b
		}
		statuses, messages, _ := g.race(2, shipped, func(i int) []string { return []string{"Idempotency-Key", []string{"K1", "K2"}[i]} })
		if statuses[201] != 1 || statuses[200] != 1 || len(messages) != 1 {
			t.Fatalf("statuses %v, messages %v", statuses, messages)
		}
		m.accept(m.next(), "1")
		for name, change := range map[string]func(map[string]any){
			"another version": func(b map[string]any) { b["event"] = map[string]any{"type": "order", "id": "ord-7", "version": "4"} },
			"another purpose": func(b map[string]any) { b["purpose"] = "delivery_update" },
			"another event":   func(b map[string]any) { b["event"] = map[string]any{"type": "order", "id": "ord-8", "version": "3"} },
		} {
			b := shipped(0)
			change(b)
			if r := g.post(b); r.Status != 201 || messages[r.at("message.id")] != 0 {
				t.Errorf("%s: %d %s", name, r.Status, r.Raw)
			}
			m.accept(m.next(), name)
		}
		if len(m.submitted) != 0 {
			t.Error("something was submitted twice")
		}
	})
}
