package store

import (
	"context"

	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/clock"
)

// PolicyVersion is a stored policy file. Versions are never changed or removed, and each comes into force once at
// most.
type PolicyVersion struct {
	Name    string
	Version int
	Source  []byte // nil in lists
	// N orders the versions by when they came into force, from 1 on; 0: it never did.
	N  int64
	At clock.Micros // when it came into force; 0: not known, or never
	By string       // who brought it
}

// ID names the version, as decisions do.
func (p PolicyVersion) ID() string { return policy.Version{Name: p.Name, Version: p.Version}.ID() }

// PolicyRule is policy.Succeed or policy.SucceedBuiltin.
type PolicyRule func(v policy.Version, k policy.Known) (changes bool, err error)

// Policies holds the versions of policies and which one is in force.
type Policies interface {
	// PutPolicy stores a version and makes it the policy in force, in one transaction, if the rule says so, and
	// reports whether it did. Decisions under way are waited for: none is made under the version before once this
	// returns. One that changes nothing locks nothing. The rule's error comes back as it is, and nothing has changed.
	PutPolicy(ctx context.Context, p PolicyVersion, rule PolicyRule) (changed bool, err error)
	// PolicyHead is the policy in force.
	PolicyHead(ctx context.Context) (PolicyVersion, error)
	// PolicyInForce is its name and version alone.
	PolicyInForce(ctx context.Context) (name string, version int, err error)
	// Policy is a stored version; fault.NotFound: there is none.
	Policy(ctx context.Context, name string, version int) (PolicyVersion, error)
	// PoliciesInForce lists the versions that were in force, the newest first, with their files.
	PoliciesInForce(ctx context.Context, limit int) ([]PolicyVersion, error)
	// ListPolicies lists the versions that were in force before the n-th (0: all), the newest first, without files.
	ListPolicies(ctx context.Context, before int64, limit int) ([]PolicyVersion, error)
}
