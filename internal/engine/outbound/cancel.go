package outbound

import (
	"context"
	"errors"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/request"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Cancel takes a message back that is still waiting, and returns it. Doing so twice is no error. A message that
// a provider has, or may have, is never called back: fault.State, with words for the state that it is in.
// person and reason are kept with the event (D14).
func (s *Service) Cancel(ctx context.Context, tenant ident.Partition, id ident.Message, person, reason string) (*store.Message, error) {
	if err := checkCancel(person, reason); err != nil {
		return nil, err
	}
	refused := s.settleCancel(ctx, tenant, id, person, reason)
	if refused != nil && fault.CodeOf(refused) != fault.State {
		return nil, publicFault(refused)
	}
	m, err := s.cfg.Store.Message(ctx, tenant, id)
	switch {
	case err != nil:
		return nil, publicFault(err)
	case errors.Is(refused, evidence.ErrHandedOver):
		return nil, fault.New(fault.State, "message %s is with the provider in part, or may be; what a provider has is never called back", id)
	case refused != nil && m.State != message.Cancelled:
		return nil, fault.New(fault.State, "message %s %s; only a message that is waiting to be sent can be cancelled", id, tooLate(m.State))
	case refused == nil && s.cfg.Wake != nil:
		s.cfg.Wake()
	}
	return m, nil
}

// settleCancel returns fault.State if the message is in no state that can be cancelled.
func (s *Service) settleCancel(ctx context.Context, tenant ident.Partition, id ident.Message, person, reason string) error {
	news := store.News{
		Evidence:  evidence.Evidence{Kind: evidence.Cancel, Message: id, Person: person, Reason: reason},
		Reference: -1, Tenant: &tenant,
	}
	settled, err := s.cfg.Store.Settle(ctx, []store.News{news}, store.Rules{})
	if err != nil {
		return err
	}
	if err = settled[0].Err; errors.Is(err, evidence.ErrState) && fault.CodeOf(err) != fault.State {
		return fault.Wrap(err, fault.State, "it cannot be cancelled")
	}
	return err
}

func checkCancel(person, reason string) error {
	var wrong request.Wrong
	wrong.Short("#/person", person, MaxReason)
	wrong.Short("#/reason", reason, MaxReason)
	if len(wrong) == 0 {
		return nil
	}
	f := fault.New(fault.Invalid, "%d of the request's fields must be changed; nothing was cancelled", len(wrong))
	f.Fields = wrong
	return f
}

// tooLateWords say why a message cannot be taken back any more.
var tooLateWords = map[message.State]string{
	message.Declined:    "was declined in review and will not be sent",
	message.Sending:     "is being sent at this moment",
	message.Accepted:    "was accepted by the provider",
	message.EnRoute:     "is on its way, as the provider reports",
	message.Delivered:   "was reported delivered",
	message.Undelivered: "was reported undelivered",
	message.Rejected:    "was rejected by the provider",
	message.Failed:      "failed and will not be sent",
	message.Expired:     "has expired",
	message.Replaced:    "was replaced by a newer version",
	message.Unknown:     "may have left, and whether the provider has it is not known",
}

// tooLate falls back to the state's name: between the refusal and the look at it the message may have become
// one that could be cancelled again, after a throttle for example.
func tooLate(s message.State) string {
	if words, ok := tooLateWords[s]; ok {
		return words
	}
	return "was in hand when it was to be cancelled, and is " + s.String() + " now"
}
