package storetest

import (
	"testing"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// declared is a person's word on what became of a message's attempts without an outcome.
func declared(m ident.Message, o message.Outcome) store.News {
	return about(m, evidence.Evidence{Kind: evidence.Declared, Outcome: o, Person: "ann", Reason: "their list"})
}

// testWalletDeclared settles by a person's word what nobody knows and nothing else will settle, final or not. Each word is
// an event, which says what the message costs from then on; a second word is refused, and nothing is sent by one.
//
// covers: M4, R6, I10, I19
func testWalletDeclared(t *testing.T, h Harness) {
	p := newWorld(t, h).prepaid("asking", 1000)
	took := p.sent(p.costing(100, ask{event: "D-1", version: "1", to: 6}))[0]
	failed := p.sent(p.costing(10, ask{event: "D-2", version: "1", to: 6, parts: 2}))[0]
	early := p.sent(p.costing(1, ask{event: "D-3", version: "1", to: 6}))[0]
	p.settle(p.outcome(took, message.OutcomeUnknown, ""), p.outcome(failed, message.OutcomeUnknown, ""), p.outcome(early, message.OutcomeUnknown, ""))
	must(t, p.settle(declared(early.Message, message.OutcomeNotSent))[0].Err)
	p.state(early.Message, message.Rejected)
	p.has(1000, 120, 0)
	p.age(p.receiptTime(took.Message))
	p.close(took.Message)
	p.close(failed.Message)
	p.has(1000, 110, 0) // the second part of a text that is over costs nothing any more
	foreign := declared(took.Message, message.OutcomeNotSent)
	other := p.id + 1
	foreign.Tenant = &other
	if got := p.settle(foreign)[0]; fault.CodeOf(got.Err) != fault.NotFound || got.Err == nil {
		t.Errorf("another tenant's word: %v", got.Err)
	}
	for _, one := range p.settle(declared(took.Message, message.OutcomeAccepted), declared(failed.Message, message.OutcomeNotSent)) {
		must(t, one.Err)
	}
	if m := p.state(took.Message, message.Accepted); !m.Final {
		t.Error("it is awaited again")
	}
	p.state(failed.Message, message.Rejected)
	p.charges(took.Message, "1.1 settled")
	p.charges(failed.Message, "1.1 released, 1.2 released")
	p.tells(took.Message, "taken 100/0, outcome, closed, resolved 0/100")
	p.tells(failed.Message, "taken 20/0, outcome, closed 10/0, resolved 0/0")
	p.has(900, 0, 100)
	again := p.settle(declared(took.Message, message.OutcomeAccepted))[0]
	if fault.CodeOf(again.Err) != fault.State || again.Err == nil {
		t.Errorf("a second time: %v", again.Err)
	}
	if claims := p.claim(10); len(claims) != 0 {
		t.Errorf("%d messages are sent by a word", len(claims))
	}
	p.has(900, 0, 100)
}
