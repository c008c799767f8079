package outbound

import (
	"context"
	"encoding/json"

	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/domain/request"
	"github.com/einmal/einmal/internal/domain/route"
	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
)

// MaxReason is the longest reason and name of a person, in characters.
const MaxReason = 256

// checked is a request whose fields are right, with what is stored of it.
type checked struct {
	request.Checked
	text       cut
	connection Connection
	metadata   []byte // JSON; nil: none
}

// check has every field looked at, and trims names.
func (s *Service) check(ctx context.Context, sub *Submission, p *policy.Policy) (*checked, error) {
	var to Connection
	var nowhere error
	limits := func(c *request.Checked) request.Limits {
		to, nowhere = s.cfg.Route(ctx, route.Question{
			Purpose: c.Purpose.Name, Tenant: sub.Tenant, Destination: c.To.E164(), Sender: c.Sender, Simulate: sub.Simulate,
		})
		return request.Limits{MostParts: to.Long.most(), Bits: to.Long.bits()}
	}
	c, wrong := sub.Check(sub.caller(), p, request.Gateway{Senders: s.senders(sub.Tenant), RefuseUnassigned: s.cfg.RefuseUnassigned, Limits: limits})
	if len(wrong) > 0 {
		f := fault.New(fault.Invalid, "%d of the request's fields must be changed; nothing was reserved or sent", len(wrong))
		f.Fields = wrong
		return nil, f
	}
	if nowhere != nil {
		return nil, nowhere
	}
	out := &checked{Checked: c, connection: to, text: to.Long.cut(c.Text)}
	if len(sub.Metadata) > 0 {
		out.metadata, _ = json.Marshal(sub.Metadata) // a map of strings: it cannot fail
	}
	return out, nil
}

// senders are what a tenant may send under.
func (s *Service) senders(of ident.Partition) request.Senders {
	if s.cfg.Senders != nil {
		if registered, limited := s.cfg.Senders(of); limited {
			return tenant.Senders(registered, s.cfg.Sender)
		}
	}
	return request.Senders{Default: s.cfg.Sender}
}

func (s *Submission) caller() request.Caller {
	return request.Caller{KeyID: s.Caller, KeyName: s.CallerName, Header: s.header}
}

func (s *Submission) header(name string) string {
	if values := s.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}
