package api

import (
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/engine/receipt"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// covers: R6
func TestAnOutcomeIsDeclared(t *testing.T) {
	w := newWorld(t)
	path, key := "/v1/messages/"+w.store.message.ID.String()+"/outcome", w.key(tenantA, "review")
	for body, want := range map[string]receipt.Word{
		`{"outcome":"accepted","by":" ann ","reason":"in their list"}`:                    {Outcome: message.OutcomeAccepted},
		`{"outcome":"not_sent","attempt":2,"part":3,"by":"ann","reason":"in their list"}`: {Outcome: message.OutcomeNotSent, Attempt: 2, Part: 3},
	} {
		w.resolver.words = nil
		want.Tenant, want.Message, want.Person, want.Reason = tenantA, w.store.message.ID, "ann (key checkout review)", "in their list"
		rec := w.call("POST", path, key, body)
		if rec.Code != 200 || len(w.resolver.words) != 1 || w.resolver.words[0] != want || !strings.Contains(rec.Body.String(), w.store.message.ID.String()) {
			t.Errorf("%s: %d, declared %+v: %s", body, rec.Code, w.resolver.words, rec.Body)
		}
	}
	for body, pointer := range map[string]string{
		`{"by":"a","reason":"r"}`:                                        "#/outcome",
		`{"outcome":"rejected","by":"a","reason":"r"}`:                   "#/outcome",
		`{"outcome":7,"by":"a","reason":"r"}`:                            "#/outcome",
		`{"outcome":"accepted","reason":"r"}`:                            "#/by",
		`{"outcome":"accepted","by":"a"}`:                                "#/reason",
		`{"outcome":"accepted","by":"a\u202e","reason":"r"}`:             "#/by",
		`{"outcome":"accepted","attempt":0,"by":"a","reason":"r"}`:       "#/attempt",
		`{"outcome":"accepted","message":"msg_1","by":"a","reason":"r"}`: "#/message",
	} {
		p := w.problem(w.call("POST", path, key, body), 400, fault.Invalid)
		if len(p.Errors) != 1 || p.Errors[0].Pointer != pointer {
			t.Errorf("%s: %+v", body, p.Errors)
		}
	}
	w.problem(w.call("POST", "/v1/messages/"+ident.NewMessage(1).String()+"/outcome", key, bodies["POST /v1/messages/{id}/outcome"]), 404, fault.NotFound)
}

// lost sends a message of a tenant whose answer is lost, and returns it with its attempt.
func (h *house) lost(o *household) store.Opened {
	h.t.Helper()
	rec := h.call("POST", "/v1/messages", o.key, h.fill(strings.Replace(o.body(), "A-1", "NAME", 1)))
	if rec.Code != 201 {
		h.t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	node := ident.NewNode()
	claims, err := h.store.Claim(h.t.Context(), store.ClaimSpec{Node: node, Connection: h.conn, Room: flow.Room{All: 1, Lower: 1}, Lease: time.Minute})
	must(h.t, err)
	opened, err := h.store.OpenAttempts(h.t.Context(), store.OpenSpec{Node: node, Connection: h.conn, IDSpace: h.space, AnswerBy: time.Minute}, claims.Taken)
	must(h.t, err)
	if len(opened) != 1 || !strings.Contains(rec.Body.String(), opened[0].Message.String()) {
		h.t.Fatalf("opened %+v of %s", opened, rec.Body)
	}
	h.settle(h.answered(opened[0], message.OutcomeUnknown))
	return opened[0]
}

func (h *house) answered(o store.Opened, outcome message.Outcome) store.News {
	return store.News{IDSpace: h.space, Connection: h.conn, Reference: o.Reference, Evidence: evidence.Evidence{
		Kind: evidence.Outcome, Message: o.Message, Attempt: o.Attempt, Part: o.Part, Outcome: outcome,
	}}
}

// has asserts what a tenant has.
func (h *house) has(o *household, balance, held, spent int64) {
	h.t.Helper()
	v := into[WalletView](h.t, h.call("GET", "/v1/wallet", o.key, "").Body.String())
	if v.Balance != balance || v.Held != held || v.Spent != spent {
		h.t.Errorf("balance %d, held %d, spent %d; want %d, %d, %d", v.Balance, v.Held, v.Spent, balance, held, spent)
	}
}

// What a prepaid tenant's messages cost is moved by the operator's word alone: the tenant's own changes nothing, not of
// what is unknown, nor of an answer that would give back what was paid. Whoever pays nothing has its own word.
//
// covers: M4, I10, I19, X5
func TestAPrepaidTenantsWordsAreTheOperators(t *testing.T) {
	onEveryStore(t, func(t *testing.T, h *house) {
		operator, o := h.household("installation"), h.household("second")
		reviewer := h.key(operator, "review", 0).Text()
		h.price = wallet.MicroUSD(2)
		took, failed := h.lost(o), h.lost(o)
		h.has(o, 5, 4, 0)
		refused := func(path, body string) {
			t.Helper()
			rec := h.call("POST", "/v1"+path, o.key, body)
			if p := into[Problem](t, rec.Body.String()); rec.Code != 403 || p.Code != "scope" || !strings.Contains(p.Detail, "it is the operator's") {
				t.Errorf("%s by the tenant: %d %s", path, rec.Code, rec.Body)
			}
		}
		said := func(key, place string, id ident.Message, outcome string, status int, want string) {
			t.Helper()
			rec := h.call("POST", place+"/messages/"+id.String()+"/outcome", key, `{"outcome":"`+outcome+`","by":"ann","reason":"their list"}`)
			if rec.Code != status || !strings.Contains(rec.Body.String(), want) {
				t.Errorf("%s is %s: %d, want %d with %s: %s", id, outcome, rec.Code, status, want, rec.Body)
			}
		}
		refused("/messages/"+took.Message.String()+"/outcome", `{"outcome":"not_sent","by":"eve","reason":"r"}`)
		refused("/messages/"+took.Message.String()+"/requeue", `{"reason":"r"}`)
		h.has(o, 5, 4, 0)
		said(reviewer, "/v1/tenants/second", took.Message, "accepted", 200, `"state":"accepted"`)
		h.has(o, 3, 2, 2)
		said(reviewer, "/v1/tenants/second", failed.Message, "not_sent", 200, `"state":"rejected"`)
		h.has(o, 3, 0, 2)
		said(reviewer, "/v1/tenants/second", failed.Message, "accepted", 409, "it is known already")
		told := h.call("GET", "/v1/messages/"+failed.Message.String()+"/timeline", o.key, "").Body.String()
		if !strings.Contains(told, "said that the provider did not take attempt 1 (their list). It is not sent again.") {
			t.Errorf("the tenant's timeline: %s", told)
		}

		h.settle(h.answered(took, message.OutcomeRejected)) // which contradicts
		all, err := h.store.Exceptions(t.Context(), o.id, store.ExceptionFilter{About: took.Message}, store.Page{Limit: 10})
		must(t, err)
		path := "/exceptions/" + all[0].ID.String() + "/resolve"
		refused(path, `{"action":"attach","by":"eve","reason":"r"}`)
		h.has(o, 3, 0, 2)
		if rec := h.call("POST", "/v1/tenants/second"+path, reviewer, `{"action":"attach","by":"ann","reason":"r"}`); rec.Code != 200 {
			t.Errorf("the operator: %d %s", rec.Code, rec.Body)
		}
		h.has(o, 5, 0, 0)

		mine := h.lost(operator)
		said(reviewer, "/v1", mine.Message, "not_sent", 200, `"state":"rejected"`)
		postpaid, err := h.store.CreateTenant(t.Context(), store.Tenant{Name: "postpaid"})
		must(t, err)
		p := &household{name: "postpaid", id: postpaid.ID}
		p.key = h.key(p, "send review", 0).Text()
		said(p.key, "/v1", h.lost(p).Message, "accepted", 200, `"state":"accepted"`)
	})
}
