package outbound

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/fault"
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

// inForce is a policy with the versions before it that this process has worked under, the newest first. Their
// windows may still run (D6).
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
	if was != nil {
		now.older = append(now.older, was.Policy)
		now.older = append(now.older, was.older[:min(len(was.older), maxOlder-1)]...)
	}
	p.current.Store(now)
	return now, nil
}
