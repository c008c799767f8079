package outbound

import (
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/store"
)

// charge is what a request's message costs. The installation's own tenant pays nothing, and neither does what never
// reaches a phone; for everybody else it is the store's to say whether there is a wallet.
func (s *Service) charge(sub *Submission, e164 string) intent.Charge {
	if s.cfg.Prices == nil || sub.Simulate || sub.Tenant == store.Installation {
		return intent.Charge{}
	}
	return intent.Charge{Asked: true, Offer: s.cfg.Prices(sub.Tenant, e164)}
}
