package smpp

import (
	"errors"
	"strconv"
	"strings"

	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/provider"
	wire "github.com/einmal/einmal/internal/smpp"
)

// outcomeOf says what is known about a submission.
func (p *Provider) outcomeOf(r wire.Result) provider.Outcome {
	switch {
	case r.PDU != nil:
		chaos.At(chaos.WireRead)
		o := p.answered(r.PDU, r.Err)
		o.Late = r.Late
		return o
	case r.Written:
		return provider.Outcome{Kind: provider.Unknown, Detail: detail(r.Err)}
	case errors.As(r.Err, new(*wire.FieldError)):
		return provider.Outcome{Kind: provider.Rejected, Detail: detail(r.Err)}
	}
	return provider.Outcome{Kind: provider.NotSent, Detail: detail(r.Err)}
}

// detail is an error without the addresses that the network's errors have.
func detail(err error) string {
	if s := err.Error(); strings.HasPrefix(s, "smpp: ") || strings.HasPrefix(s, "gsm: ") {
		return s
	}
	return "the connection failed"
}

// meanings maps the class of a status.
var meanings = map[wire.Class]provider.Outcome{
	wire.ClassOK:        {Kind: provider.Accepted},
	wire.ClassThrottle:  {Kind: provider.Throttled, SlowDown: true},
	wire.ClassTemporary: {Kind: provider.Throttled},
	wire.ClassPermanent: {Kind: provider.Rejected},
	wire.ClassConfig:    {Kind: provider.Rejected, PauseConnection: true},
	wire.ClassBind:      {Kind: provider.Rejected, PauseConnection: true},
	wire.ClassUnsure:    {Kind: provider.Unknown},
	// A code that nobody documents proves nothing. A false "refused" could lead to a second message.
	wire.ClassUnlisted: {Kind: provider.Unknown},
}

func (p *Provider) answered(a *wire.PDU, err error) provider.Outcome {
	class, declared := p.cfg.Statuses[a.Status]
	if !declared {
		class = a.Status.Class()
	}
	o := meanings[class]
	o.Code, o.CodeName, o.Detail = a.Status.String(), a.Status.Name(), a.Status.Text()
	if declared {
		o.Detail += "; the connection declares what it means"
	}
	if o.Kind != provider.Accepted {
		return o
	}
	if err != nil || a.Command == wire.CmdGenericNack {
		o.Kind, o.Detail = provider.Unknown, "the answer could not be read"
		return o
	}
	if o.ExternalID = messageID(a); len(o.ExternalID) > provider.LongestID {
		o.ExternalID, o.Detail = nil, tooLongID
	}
	return o
}

// tooLongID is the detail of an acceptance whose id no store would take: the outcome is kept, without the id.
var tooLongID = "the message was taken; its message id is longer than " + strconv.Itoa(provider.LongestID) + " octets and was left out"

// messageID is the id as received, or nil: some centres leave it out, some write the word null.
func messageID(p *wire.PDU) []byte {
	body, _ := p.Body.(*wire.MessageID)
	if body == nil || body.ID == "" || strings.EqualFold(body.ID, "null") {
		return nil
	}
	return []byte(body.ID)
}
