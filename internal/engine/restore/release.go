package restore

import (
	"context"
	"errors"
	"strings"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Ask is what an operator says about a store that was restored.
type Ask struct {
	AsOf        clock.Micros // when the copy was taken; 0: not known
	KeepPending bool         // nothing was sent since
	Declared    bool         // it was restored although nobody has noticed
	Person      string
	Reason      string
}

// maxWords bounds a person's name and a reason, in bytes.
const maxWords = 500

// Release notes that traffic is to go on. It returns when that is stored; the rest is done in the background, and
// Survey shows how far it is. Asking for the same again is no error.
func (s *Service) Release(ctx context.Context, a Ask) error {
	now, err := s.cfg.Store.Now(ctx)
	if err != nil {
		return err
	}
	a.Person, a.Reason = strings.TrimSpace(a.Person), strings.TrimSpace(a.Reason)
	if err := a.check(now); err != nil {
		return err
	}
	if a.Declared {
		if err := s.cfg.Store.HoldTraffic(ctx, "a person says so: "+a.Person); err != nil {
			return err
		}
	}
	err = s.cfg.Store.BeginRelease(ctx, store.Release{AsOf: a.AsOf, KeepPending: a.KeepPending, Person: a.Person, Reason: a.Reason})
	if err != nil {
		return err
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return nil
}

func (a *Ask) check(now clock.Micros) error {
	f := fault.New(fault.Invalid, "this is not enough to let traffic go on; nothing was changed")
	wrong := func(pointer, detail string) {
		f.Fields = append(f.Fields, fault.Field{Pointer: pointer, Detail: detail})
	}
	if a.Person == "" || len(a.Person) > maxWords {
		wrong("#/by", "write who says so, in at most 500 bytes; it is kept with the store's incarnation")
	}
	if a.Reason == "" || len(a.Reason) > maxWords {
		wrong("#/reason", "write what happened, in at most 500 bytes; it is kept with the store's incarnation")
	}
	if words := impossible(a.AsOf, now); words != "" {
		wrong("#/as_of", words)
	} else if a.AsOf != 0 && a.KeepPending {
		wrong("#/as_of", "it narrows what is in doubt, and with keep_pending nothing that waits is: leave one of them out")
	}
	if len(f.Fields) > 0 {
		return f
	}
	return nil
}

// impossible says why no copy can have been taken then; "": one can.
func impossible(asOf, now clock.Micros) string {
	switch {
	case asOf > now:
		return "in the future: give the time at which the copy was taken, or leave it out"
	case asOf < 0:
		return "before 1970: give the time at which the copy was taken, or leave it out"
	}
	return ""
}

// Requeue takes a person's word that a message which a restore left unknown was not sent: it waits again, to be sent.
// fault.State: it is not in that doubt, or nothing of it would leave.
func (s *Service) Requeue(ctx context.Context, tenant ident.Partition, id ident.Message, person, reason string) error {
	settled, err := s.cfg.Store.Settle(ctx, []store.News{{
		Evidence:  evidence.Evidence{Kind: evidence.Requeued, Message: id, Person: person, Reason: reason},
		Reference: -1, Tenant: &tenant,
	}}, s.cfg.Rules)
	if err == nil {
		err = settled[0].Err
	}
	if fault.CodeOf(err) == fault.State && errors.Is(err, evidence.ErrState) {
		return fault.Wrap(err, fault.State, "only a message can be put back in its queue that a restore of the store left unknown, and that nothing has settled since")
	}
	if err == nil {
		s.committed()
	}
	return err
}
