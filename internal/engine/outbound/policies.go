package outbound

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// maxOlder is how many earlier versions requests are also compared under.
const maxOlder = 4

// policies remembers the policy in force. It may be wrong for a moment: the store checks at each decision, and
// says store.ErrPolicyChanged.
type policies struct {
	store   Store
	current atomic.Pointer[inForce]
	mu      sync.Mutex // held while the store is asked, so that one asks for all
}

// inForce is a policy with the versions before it, the newest first. Their windows may still run (D6).
type inForce struct {
	*policy.Policy
	older []*policy.Policy
}

func (p *policies) inForce(ctx context.Context) (*inForce, error) {
	if now := p.current.Load(); now != nil {
		return now, nil
	}
	return p.refresh(ctx, nil)
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
	name := fmt.Sprintf("%s@%d", head.Name, head.Version)
	parsed, wrong := policy.Parse(name, head.Source)
	if wrong != nil {
		return nil, fault.Wrap(wrong, fault.Internal, "the policy in force, %s, cannot be read by this release", name)
	}
	now := &inForce{Policy: parsed}
	if now.older, err = p.before(ctx, head); err != nil {
		return nil, err
	}
	p.current.Store(now)
	return now, nil
}

// before reads the versions before the head, of any node and run. One that this release cannot read is left
// out: its requests were decided by another release, whose keys this one cannot make.
func (p *policies) before(ctx context.Context, head store.PolicyVersion) ([]*policy.Policy, error) {
	stored, err := p.store.PolicyVersions(ctx, head.Name, maxOlder+1)
	if err != nil {
		return nil, err
	}
	var older []*policy.Policy
	for _, v := range stored {
		if v.Version >= head.Version {
			continue
		}
		if parsed, wrong := policy.Parse(fmt.Sprintf("%s@%d", v.Name, v.Version), v.Source); wrong == nil {
			older = append(older, parsed)
		}
	}
	return older, nil
}
