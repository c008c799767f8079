package outbound

import (
	"context"
	"slices"
	"time"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/domain/request"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// ids are made once for a request, before its first try: a batch that is committed again after a lost
// connection has the same ones, and makes no second message.
type ids struct {
	decision ident.Decision
	message  ident.Message
}

func newIDs(p ident.Partition) ids { return ids{ident.NewDecision(p), ident.NewMessage(p)} }

// request maps a checked submission to an intent under a policy.
func (s *Service) request(sub *Submission, c *checked, p *inForce, made ids) *intent.Request {
	r := &intent.Request{
		Decision: made.decision, Message: made.message,
		Tenant: sub.Tenant, PolicyID: p.ID(), Purpose: c.Purpose, MappedBy: c.MappedBy, To: c.To,
		Event: c.Event, Sender: c.Sender, Template: sub.Template, CorrelationID: sub.CorrelationID, Connection: c.connection.ID, Simulated: sub.Simulate,
		ValidFor: c.ValidFor, Idempotency: s.idempotency(sub), Text: c.text.layout, Before: sub.turn.before,
		DryRun: sub.DryRun, Guards: sub.Guards, Charge: s.charge(sub, c.To.E164()),
	}
	for _, ask := range s.cfg.Guards {
		if said, about := ask(sub, r); about {
			r.Guards = append(r.Guards[:len(r.Guards):len(r.Guards)], said)
		}
	}
	r.MakeKeys(sub.Text, s.key)
	s.addOlder(r, sub, p)
	return r
}

// addOlder adds the keys that the request would have had under versions that were in force before, where they differ.
// A definition that needs more than the request has cannot have seen this intent.
func (s *Service) addOlder(r *intent.Request, sub *Submission, p *inForce) {
	for _, old := range p.older[r.Purpose.Name] {
		if len(intent.Missing(old, r)) == 0 {
			s.addOlderKey(r, old, r.Event, p.Mode)
		}
	}
	if sub.Purpose != "" {
		return
	}
	asked := sub.Asked(sub.caller(), r.Sender)
	for _, old := range p.mapped {
		if m, ok := old.Map(asked); ok {
			s.addOlderKey(r, m.Purpose, intent.Event(m.Event), p.Mode)
		}
	}
}

// addOlderKey adds the key of a purpose with an event, and where that purpose makes every text a version, the key with
// this text. What is found under them is decided in the mode that is in force now.
func (s *Service) addOlderKey(r *intent.Request, purpose policy.Purpose, event intent.Event, mode policy.Mode) {
	then := *r
	then.Event = event
	purpose.Mode = mode
	k := s.key(intent.KeyForm(purpose, &then))
	r.Keys.Older = withOlder(r.Keys.Older, r.Keys.Intent, intent.OlderKey{Key: k, Purpose: purpose})
	if purpose.OnOtherText == policy.OtherTextAllow {
		v := s.key(intent.VariantForm(k, r.TextKey))
		r.Keys.OlderVariants = withOlder(r.Keys.OlderVariants, r.Keys.Variant, intent.OlderKey{Key: v, Purpose: purpose})
	}
}

// withOlder adds a key that is neither the current one nor there already.
func withOlder(all []intent.OlderKey, current intent.Key, one intent.OlderKey) []intent.OlderKey {
	known := func(k intent.OlderKey) bool { return k.Key == one.Key }
	if one.Key == current || slices.ContainsFunc(all, known) {
		return all
	}
	return append(all, one)
}

func (s *Service) key(form []byte) intent.Key { return s.cfg.Identity.Key(form) }

func (s *Service) idempotency(sub *Submission) intent.Idempotency {
	if sub.IdempotencyKey == "" {
		return intent.Idempotency{}
	}
	operation := sub.Operation
	if sub.Simulate {
		operation = intent.Simulated(operation)
	}
	return intent.Idempotency{
		Key:         s.key(intent.IdempotencyForm(uint64(sub.Tenant), operation, sub.IdempotencyKey)),
		Fingerprint: intent.TakeFingerprint(s.key, sub.Canonical),
	}
}

// prepare adds what is stored if the request is allowed.
func (s *Service) prepare(ctx context.Context, sub *Submission, c *checked, r *intent.Request) (store.Submission, error) {
	out := store.Submission{Request: r, ReceiptTime: c.connection.ReceiptTime, Caller: sub.Caller}
	if r.Refused() { // it makes no message, whatever the store knows: neither a flow nor a text is kept of it
		return out, nil
	}
	var err error
	out.Flow, err = s.flows.id(ctx, store.FlowSpec{
		Connection: out.Connection, Lane: flow.LaneOf(c.Purpose.Kind), Tenant: sub.Tenant, Sender: c.Sender, Purpose: c.Purpose.Name,
	})
	if err != nil {
		return out, err
	}
	content := Content{ToRaw: sub.To, Text: sub.Text, Ends: c.text.ends}
	if c.Purpose.Kind == policy.KindAuthentication {
		s.contents.sealOwn(&out, content, c.metadata, ownKeyLife(c.Purpose.Window))
		return out, nil
	}
	return out, s.contents.seal(ctx, &out, s.cfg.Clock.Now(), content, c.metadata)
}

// ownKeyLife is how long the text of a code is kept: as long as its window may be open, and never longer than
// a code may live.
func ownKeyLife(w policy.Window) time.Duration { return min(request.AuthenticationLife, w.Limit()) }
