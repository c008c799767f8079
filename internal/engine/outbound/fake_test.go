package outbound

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// memory is the needed part of a store in memory, with the same pure functions inside.
type memory struct {
	mu       sync.Mutex
	now      clock.Micros
	policies map[string]store.PolicyVersion
	head     string
	meta     map[string]string
	flows    map[store.FlowSpec]int64
	asked    int                        // how often EnsureFlow was called
	keys     map[ident.Partition][]byte // sealing keys; the id is the tenant

	messages  map[ident.Message]*saved
	decisions map[ident.Decision]intent.Decision
	register  map[intent.Key]intent.Reservation
	prints    map[ident.Decision]intent.Fingerprint

	fail   error                    // of the next calls of Decide
	before func([]store.Submission) // called by Decide first
}

// saved is a message as it was submitted, with its state.
type saved struct {
	store.Submission
	evidence.Case
}

func newMemory() *memory {
	return &memory{
		now: 1_800_000_000_000_000, policies: map[string]store.PolicyVersion{}, meta: map[string]string{},
		flows: map[store.FlowSpec]int64{}, keys: map[ident.Partition][]byte{}, messages: map[ident.Message]*saved{}, decisions: map[ident.Decision]intent.Decision{},
		register: map[intent.Key]intent.Reservation{}, prints: map[ident.Decision]intent.Fingerprint{},
	}
}

func (m *memory) Decide(_ context.Context, batch []store.Submission, decide store.DecideFunc) ([]store.Decided, error) {
	if m.before != nil {
		m.before(batch)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return nil, m.fail
	}
	for _, s := range batch {
		if s.PolicyID != m.head {
			return nil, store.ErrPolicyChanged
		}
	}
	f, out := m.facts(), make([]store.Decided, len(batch))
	for i, s := range batch {
		out[i].Result = decide(s.Request, f)
		m.write(s, out[i].Result)
	}
	return out, nil
}

func (m *memory) facts() *intent.Facts {
	f := &intent.Facts{Now: m.now, Answered: map[intent.Key]*intent.Answered{}, Holders: map[intent.Key]*intent.Holder{}}
	for k, r := range m.register {
		if r.Space == intent.SpaceIdempotency {
			d := m.decisions[r.Owner]
			f.Answered[k] = &intent.Answered{Decision: d, Fingerprint: m.prints[d.ID], Ends: r.Ends, MessageFinal: m.messages[d.Message.ID].Final}
			continue
		}
		msg := m.messages[r.Owner]
		f.Holders[k] = &intent.Holder{Ends: r.Ends, Message: intent.MessageFacts{
			ID: r.Owner, Connection: msg.Submission.Connection, State: msg.State, Since: msg.Since, Final: msg.Final, TextKey: msg.TextKey, EventBound: msg.Purpose.Window.EventBound(),
		}}
	}
	return f
}

func (m *memory) write(s store.Submission, res intent.Result) {
	if res.Kind != intent.Decided {
		return
	}
	m.decisions[s.Decision], m.prints[s.Decision] = res.Decision, s.Idempotency.Fingerprint
	if res.Decision.Action == intent.Allow {
		m.messages[s.Message] = &saved{s, evidence.Case{
			Message: s.Message, Tenant: s.Tenant, Parts: 1, State: message.Pending, Since: m.now,
			ValidUntil: m.now.Add(s.ValidFor), ReceiptUntil: m.now.Add(s.ValidFor + 1),
		}}
	}
	for _, r := range res.Reserve {
		m.register[r.Key] = r
	}
}

func (m *memory) AnswersSent(_ context.Context, sent []store.AnswerSent) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	for _, s := range sent {
		if r, there := m.register[s.Key]; there && r.Owner == s.Message {
			r.Ends = m.now
			m.register[s.Key] = r
		}
	}
	return nil
}

func (m *memory) Preview(_ context.Context, s store.Submission, decide store.DecideFunc) (intent.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := *s.Request
	r.Idempotency = intent.Idempotency{}
	return decide(&r, m.facts()), m.fail
}

func (m *memory) Settle(_ context.Context, news []store.News, _ store.Rules) ([]store.Settled, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]store.Settled, len(news))
	for i, n := range news {
		msg := m.messages[n.Evidence.Message]
		if msg == nil || *n.Tenant != msg.Case.Tenant {
			out[i].Err = fault.New(fault.NotFound, "there is no such message")
		} else if err := msg.Apply(n.Evidence, m.now); err != nil {
			out[i].Err = fault.Wrap(err, fault.State, "the message is %s", msg.State)
		}
	}
	return out, m.fail
}

func (m *memory) Message(_ context.Context, tenant ident.Partition, id ident.Message) (*store.Message, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	msg := m.messages[id]
	if msg == nil || msg.Case.Tenant != tenant {
		return nil, fault.New(fault.NotFound, "there is no such message")
	}
	return &store.Message{ID: id, Tenant: tenant, State: msg.State}, nil
}

func (m *memory) EnsureFlow(_ context.Context, spec store.FlowSpec) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	if _, there := m.flows[spec]; !there {
		m.flows[spec] = int64(evidence.FirstFlow) + int64(len(m.flows))
	}
	return m.flows[spec], nil
}

func (m *memory) PutPolicy(_ context.Context, p store.PolicyVersion, rule store.PolicyRule) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := policy.Known{Head: policy.Version{Name: m.policies[m.head].Name, Version: m.policies[m.head].Version}, Stored: m.policies[p.ID()].Source}
	for _, have := range m.policies {
		if have.Name == p.Name {
			k.Newest = max(k.Newest, have.Version)
		}
	}
	changes, err := rule(policy.Version{Name: p.Name, Version: p.Version, Source: p.Source}, k)
	if changes {
		m.head = p.ID()
		p.N = int64(len(m.policies) + 1)
		m.policies[m.head] = p
	}
	return changes, err
}

// put brings a version, which has to come into force.
func (m *memory) put(p store.PolicyVersion) {
	if changed, err := m.PutPolicy(bg, p, policy.Succeed); err != nil || !changed {
		panic(fmt.Sprint(p.ID(), " did not come into force: ", err))
	}
}

func (m *memory) Policy(_ context.Context, name string, version int) (store.PolicyVersion, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.policies[store.PolicyVersion{Name: name, Version: version}.ID()], nil
}

func (m *memory) PoliciesInForce(_ context.Context, limit int) ([]store.PolicyVersion, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.SortedFunc(maps.Values(m.policies), func(a, b store.PolicyVersion) int { return int(b.N - a.N) })
	return all[:min(len(all), limit)], nil
}

func (m *memory) PolicyHead(context.Context) (store.PolicyVersion, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.policies[m.head], nil
}

func (m *memory) PolicyInForce(context.Context) (name string, version int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.policies[m.head]
	return p.Name, p.Version, m.fail
}

func (m *memory) EnsureMeta(_ context.Context, name, value string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if have, there := m.meta[name]; there {
		return have, nil
	}
	m.meta[name] = value
	return value, nil
}

func (m *memory) EnsureSealingKey(_ context.Context, tenant ident.Partition, _ int32, wrapped []byte) (int64, []byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keys[tenant] == nil {
		m.keys[tenant] = wrapped
	}
	return int64(tenant), m.keys[tenant], nil
}

func (m *memory) SealingKey(_ context.Context, id int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.keys[ident.Partition(id)], nil
}

// pass lets time pass.
func (b *bench) pass(d time.Duration) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	b.store.now = b.store.now.Add(d)
}

// set changes a message's state behind everybody's back.
func (m *memory) set(id ident.Message, s message.State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.messages[id].State = s
}

// saved returns a copy of what is stored of a message.
func (m *memory) saved(id ident.Message) saved {
	m.mu.Lock()
	defer m.mu.Unlock()
	return *m.messages[id]
}

// reserved counts what a refusal must leave as it is.
func (m *memory) reserved() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(maps.Clone(m.register)) + len(m.messages) + len(m.decisions) + len(m.flows)
}
