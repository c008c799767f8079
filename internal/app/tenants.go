package app

import (
	"context"
	"sync/atomic"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// tenants is this node's copy of what requests are held against: each tenant's senders, and whom its team keys reach.
// Until it is loaded it knows nobody's, which refuses.
type tenants struct {
	store store.Administration
	now   atomic.Pointer[tenantsKnown]
}

type tenantsKnown struct {
	senders map[ident.Partition][]string // the default one first
	team    map[ident.Partition]map[string]bool
}

func newTenants(s store.Administration) *tenants {
	t := &tenants{store: s}
	t.now.Store(&tenantsKnown{})
	return t
}

// load implements control.Loader.
func (t *tenants) load(ctx context.Context) error {
	all, err := t.store.AllSenders(ctx)
	if err != nil {
		return err
	}
	phones, err := t.store.TeamPhones(ctx)
	if err != nil {
		return err
	}
	known := &tenantsKnown{senders: map[ident.Partition][]string{}, team: map[ident.Partition]map[string]bool{}}
	for _, s := range all {
		if s.Default {
			known.senders[s.Tenant] = append([]string{s.Sender}, known.senders[s.Tenant]...)
		} else {
			known.senders[s.Tenant] = append(known.senders[s.Tenant], s.Sender)
		}
	}
	for of, list := range phones {
		known.team[of] = map[string]bool{}
		for _, phone := range list {
			known.team[of][phone] = true
		}
	}
	t.now.Store(known)
	return nil
}

// sendersOf are a tenant's registered senders. The installation's own tenant sends under any.
func (t *tenants) sendersOf(of ident.Partition) (registered []string, limited bool) {
	return t.now.Load().senders[of], of != store.Installation
}

// guard holds a team key's request against the team.
func (t *tenants) guard(sub *outbound.Submission, r *intent.Request) (intent.Guard, bool) {
	if !sub.Team {
		return intent.Guard{}, false
	}
	return tenant.Team(t.now.Load().team[r.Tenant][r.To.E164()]), true
}
