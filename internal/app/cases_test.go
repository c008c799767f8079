package app_test

import (
	"maps"
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

// templatePolicy has what the case hands over in the key: the template's version, and no version of the event.
const templatePolicy = `policy: shop
version: 1
purposes:
  shipped: {kind: confirmation, key: [event.id, sender, template.version], window: {while: [delivered, undelivered], at_most: 30d}}
  refund: {kind: confirmation, key: [event.id, sender, template.version], window: {while: [delivered, undelivered], at_most: 30d}}
`

// Two idempotency keys for one business event: one message, whichever key came first and however the number is spelt.
// What differs in a part of the key is another intent, be it the version of the template or of the event.
//
// covers: C05, D1, D7
func TestTwoKeysForOneEvent(t *testing.T) {
	event := func(id, version string) map[string]any {
		return map[string]any{"type": "order", "id": id, "version": version}
	}
	for name, c := range map[string]struct {
		policy, purpose string
		others          map[string]map[string]any // members that make it another intent
	}{
		"template": {templatePolicy, "shipped", map[string]map[string]any{
			"another version": {"template": map[string]any{"id": "shipped", "version": "4"}},
			"another purpose": {"purpose": "refund"},
			"another event":   {"event": event("ord-8", "1")},
		}},
		"event": {"", "order_confirmation", map[string]map[string]any{
			"another version": {"event": event("ord-7", "4")},
			"another purpose": {"purpose": "delivery_update"},
			"another event":   {"event": event("ord-8", "1")},
		}},
	} {
		shipped := func(i int) map[string]any {
			return map[string]any{
				"to": []string{"+1 (202) 555-0143", "2025550143"}[i%2], "region": "US", "purpose": c.purpose, "event": event("ord-7", "1"),
				"sender": "SHOP", "template": map[string]any{"id": "shipped", "version": "3"}, "text": "Your order ord-7 is on its way.",
			}
		}
		t.Run(name, func(t *testing.T) {
			onEveryStore(t, func(t *testing.T, config app.Config) {
				if c.policy != "" {
					config, _ = withPolicy(t, config, c.policy)
				}
				runTwoKeys(t, config, shipped, c.others)
			})
		})
	}
}

func runTwoKeys(t *testing.T, c app.Config, shipped func(i int) map[string]any, others map[string]map[string]any) {
	m := newCentre(t, &c, nil)
	g := start(t, c)
	statuses, messages, _ := g.race(2, shipped, func(i int) []string { return []string{"Idempotency-Key", []string{"K1", "K2"}[i]} })
	if statuses[201] != 1 || statuses[200] != 1 || len(messages) != 1 {
		t.Fatalf("statuses %v, messages %v", statuses, messages)
	}
	m.accept(m.next(), "1")
	for name, change := range others {
		b := shipped(0)
		maps.Copy(b, change)
		r := g.post(b)
		if r.Status != 201 || messages[r.at("message.id")] != 0 {
			t.Fatalf("%s: %d %s", name, r.Status, r.Raw)
		}
		messages[r.at("message.id")]++
		m.accept(m.next(), name)
	}
	if len(messages) != 4 || len(m.submitted) != 0 {
		t.Errorf("%d messages for 4 intents, %d more submitted", len(messages), len(m.submitted))
	}
}
