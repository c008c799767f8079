package outbound

import (
	"encoding/json"

	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/domain/request"
	"github.com/einmal/einmal/internal/ground/fault"
)

// MaxReason is the longest reason and name of a person, in characters.
const MaxReason = 256

// checked is a request whose fields are right, with what is stored of it.
type checked struct {
	request.Checked
	text     cut
	metadata []byte // JSON; nil: none
}

// check has every field looked at, and trims names.
func (s *Service) check(sub *Submission, p *policy.Policy) (*checked, error) {
	long := s.cfg.Connection.Long
	c, wrong := sub.Check(sub.caller(), p, request.Gateway{
		Sender: s.cfg.Sender, RefuseUnassigned: s.cfg.RefuseUnassigned, MostParts: long.most(), Bits: long.bits(),
	})
	if len(wrong) > 0 {
		f := fault.New(fault.Invalid, "%d of the request's fields must be changed; nothing was reserved or sent", len(wrong))
		f.Fields = wrong
		return nil, f
	}
	out := &checked{Checked: c, text: long.cut(c.Text)}
	if len(sub.Metadata) > 0 {
		out.metadata, _ = json.Marshal(sub.Metadata) // a map of strings: it cannot fail
	}
	return out, nil
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
