package outbound

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// maxVersions is how many of the versions that were in force are read, the newest first. It is an end where none is
// expected, not a choice: a policy that is changed ten times on each day of its longest window (90 days) stays below
// it. Behind it a window that still runs would be reopened.
const maxVersions = 1000

// policies remembers the policy in force. It may be wrong for a moment: the store checks at each decision, and
// says store.ErrPolicyChanged.
type policies struct {
	store   Store
	current atomic.Pointer[inForce]
	mu      sync.Mutex // held while the store is asked, so that one asks for all
	// read are the versions that were read before, by their ids; nil: this release cannot read it. A stored version
	// never changes.
	read map[string]*policy.Policy
}

// inForce is a policy with what its requests are also compared under.
type inForce struct {
	*policy.Policy
	// older are the definitions of a purpose's key in earlier versions, by the purpose's name, each once and only
	// where it differs from the current one. Windows that began under them may still run (D6).
	older map[string][]policy.Purpose
	// mapped are the earlier versions with rules of their own for requests that name no purpose: each mapping once,
	// the newest first. What they made of a request may have a window that still runs.
	mapped []*policy.Policy
}

// maxMapped is how many earlier mappings a request without a purpose is compared under. Behind it, a window that
// still runs would be reopened; each costs such a request a look at its rules.
const maxMapped = 100

func (p *policies) inForce(ctx context.Context) (*inForce, error) {
	if now := p.current.Load(); now != nil {
		return now, nil
	}
	return p.refresh(ctx, nil)
}

// changed reports that the policy in force is another than was. It is for answers that are given without the store's
// lock on it: a dry run, and a refusal of what another version may take. A store that does not answer leaves it as
// it is known: such an answer reserves nothing.
func (p *policies) changed(ctx context.Context, was *inForce) bool {
	name, version, err := p.store.PolicyInForce(ctx)
	return err == nil && (name != was.Name || version != was.Version)
}

// refresh asks the store, unless somebody has done so since the policy was.
func (p *policies) refresh(ctx context.Context, was *inForce) (*inForce, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.current.Load(); now != was {
		return now, nil
	}
	head, err := p.store.PolicyHead(ctx)
	if err != nil {
		return nil, err
	}
	if was != nil && was.Name == head.Name && was.Version == head.Version {
		return was, nil // another request of the batch was out of date
	}
	parsed, wrong := policy.Parse(head.ID(), head.Source)
	if wrong != nil {
		return nil, fault.Wrap(wrong, fault.Internal, "the policy in force, %s, cannot be read by this release", head.ID())
	}
	earlier, err := p.before(ctx, head)
	if err != nil {
		return nil, err
	}
	now := &inForce{Policy: parsed, older: olderDefinitions(parsed, earlier), mapped: olderMappings(parsed, earlier)}
	p.current.Store(now)
	return now, nil
}

// before reads the versions that were in force before the head, whatever their names: a purpose that keeps its name
// and its key keeps its windows. One that this release cannot read is left out: its requests were decided by another
// release, whose keys this one cannot make.
func (p *policies) before(ctx context.Context, head store.PolicyVersion) ([]*policy.Policy, error) {
	stored, err := p.store.PoliciesInForce(ctx, maxVersions)
	if err != nil {
		return nil, err
	}
	var earlier []*policy.Policy
	for _, v := range stored {
		if v.N >= head.N {
			continue
		}
		if parsed := p.parsed(v); parsed != nil {
			earlier = append(earlier, parsed)
		}
	}
	return earlier, nil
}

// parsed reads a version once.
func (p *policies) parsed(v store.PolicyVersion) *policy.Policy {
	known, there := p.read[v.ID()]
	if !there {
		known, _ = policy.Parse(v.ID(), v.Source)
		if p.read == nil {
			p.read = map[string]*policy.Policy{}
		}
		p.read[v.ID()] = known
	}
	return known
}

// olderDefinitions collects the definitions of keys that earlier versions had. Versions may be many; definitions are few:
// whatever else a version changes, and whatever order it lists the parts in, equal parts make equal keys.
func olderDefinitions(now *policy.Policy, earlier []*policy.Policy) map[string][]policy.Purpose {
	older := map[string][]policy.Purpose{}
	for name, current := range now.Purposes {
		known := []string{definition(current)}
		for _, version := range earlier {
			purpose, there := version.Purposes[name]
			if d := definition(purpose); there && !slices.Contains(known, d) {
				known = append(known, d)
				older[name] = append(older[name], purpose)
			}
		}
	}
	return older
}

// olderMappings collects the earlier versions whose rules, or the keys of whose purposes, are others.
func olderMappings(now *policy.Policy, earlier []*policy.Policy) []*policy.Policy {
	var all []*policy.Policy
	known := []string{mappingDefinition(now)}
	for _, version := range earlier {
		d := mappingDefinition(version)
		if len(version.Mapping) > 0 && !slices.Contains(known, d) && len(all) < maxMapped {
			known, all = append(known, d), append(all, version)
		}
	}
	return all
}

// mappingDefinition is what a policy's rules make of requests, as one text.
func mappingDefinition(p *policy.Policy) string {
	var b strings.Builder
	for _, rule := range p.Mapping {
		fmt.Fprintln(&b, rule.When, rule.Purpose, rule.Event, definition(p.Purposes[rule.Purpose]))
	}
	return b.String()
}

// definition is what a purpose's keys are made of, in one order, and whether each text has one of its own.
func definition(p policy.Purpose) string {
	return fmt.Sprint(slices.Sorted(slices.Values(p.Key)), p.OnOtherText == policy.OtherTextAllow)
}
