package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// refusedAnswer is the bench's answer, refused by a rule of a kind.
func refusedAnswer(a outbound.Answer, kind intent.GuardKind) outbound.Answer {
	d := &a.Decision
	d.Action, d.Would, d.Rule, d.Message, d.WindowEnds = intent.Refused, intent.Allow, "some.rule", intent.Snapshot{}, 0
	d.Explanation = "It cannot be paid."
	d.Guards = []intent.Guard{
		{Rule: "key.team", Kind: intent.GuardTeam, Result: intent.GuardPass}, {Rule: "some.rule", Kind: kind, Result: intent.GuardRefuse},
	}
	return a
}

// Every kind of guard has its status, by a single request, in a batch and in a dry run.
//
// covers: D4, D8
func TestRefusalsAreProblems(t *testing.T) {
	w := newWorld(t)
	allowed := w.outbound.answer
	for kind, status := range map[intent.GuardKind]int{intent.GuardTeam: 403, intent.GuardLimit: 429, intent.GuardFunds: 402} {
		w.outbound.answer = refusedAnswer(allowed, kind)
		rec := w.call("POST", "/v1/messages", w.admin, ordinary)
		p := w.problem(rec, status, fault.Code(kind))
		if p.Detail != "It cannot be paid." || p.Retryable || rec.Header().Get("Location")+rec.Header().Get("Retry-After") != "" {
			t.Errorf("%s: %+v", kind, p)
		}
		if d := p.Decision; d == nil || *d != (ProblemReason{allowed.Decision.ID.String(), "refused", "some.rule", "allow", "new_intent", "no_equivalent"}) {
			t.Errorf("%s: its decision is %+v", kind, p.Decision)
		}
		if g := p.Guards; len(g) != 2 || g[0] != (GuardView{"key.team", "team", "pass"}) || g[1] != (GuardView{"some.rule", string(kind), "refuse"}) {
			t.Errorf("%s: %+v", kind, p.Guards)
		}
		batch := w.call("POST", "/v1/messages/batch", w.admin, `{"messages":[`+ordinary+`]}`)
		var got struct{ Data []batchItem }
		if err := json.Unmarshal(batch.Body.Bytes(), &got); err != nil || batch.Code != 200 || len(got.Data) != 1 {
			t.Fatalf("%v %s", err, batch.Body)
		}
		if one := got.Data[0]; one.Status != status || one.Answer != nil || one.Problem == nil || one.Problem.Decision.Rule != "some.rule" {
			t.Errorf("%s in a batch: %+v", kind, one)
		}
	}
	w.outbound.answer.DryRun = true
	rec := w.call("POST", "/v1/messages", w.admin, strings.Replace(ordinary, "{", `{"dry_run":true,`, 1))
	for _, want := range []string{
		`"decision":{"id":null,"action":"refused"`, `"would":"allow"`, `"message":null`,
		`"guards":[{"rule":"key.team","kind":"team","result":"pass"},{"rule":"some.rule","kind":`,
	} {
		if rec.Code != 200 || !strings.Contains(rec.Body.String(), want) {
			t.Errorf("no %s in %d %s", want, rec.Code, rec.Body)
		}
	}
}

// covers: D14
func TestRefusedDecisionIsShown(t *testing.T) {
	w := newWorld(t)
	d := store.Decision{Decision: sampleDecision(), Tenant: w.store.message.Tenant, Purpose: "order_confirmation"}
	d.Decision = refusedAnswer(outbound.Answer{Result: intent.Result{Decision: d.Decision}}, intent.GuardFunds).Decision
	w.store.decisions = []*store.Decision{&d}
	rec := w.call("GET", "/v1/decisions/"+d.ID.String(), w.key(w.store.message.Tenant, "read"), "")
	var got OneDecisionView
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Code != 200 {
		t.Fatalf("%v %d %s", err, rec.Code, rec.Body)
	}
	if got.Action != "refused" || *got.Would != "allow" || got.Message != nil || len(got.Guards) != 2 || got.Guards[1].Kind != "funds" ||
		!strings.Contains(got.Otherwise, "decided anew") {
		t.Errorf("%s", rec.Body)
	}
}
