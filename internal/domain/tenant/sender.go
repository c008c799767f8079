package tenant

import "github.com/einmal/einmal/internal/domain/request"

// Senders are what a tenant with these registered senders, the default one first, may send under. One that has none sends
// under the gateway's default sender alone.
func Senders(registered []string, gateways string) request.Senders {
	if len(registered) == 0 && gateways != "" {
		registered = []string{gateways}
	}
	if len(registered) == 0 {
		return request.Senders{Allowed: []string{}}
	}
	return request.Senders{Default: registered[0], Allowed: registered}
}
