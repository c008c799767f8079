package api

import (
	"context"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/edge/api/strictjson"
	"github.com/einmal/einmal/internal/engine/receipt"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// registerWords adds what takes a person's word on what became of an attempt. A prepaid tenant's are those of whoever runs
// the installation alone: they move its money, or send at the carrier's price, and the carrier's list is not the tenant's.
func (a *API) registerWords() {
	reviewed(a, withBody(op("POST", "/v1/messages/{id}/outcome", "declare-outcome", "Messages",
		"Say what became of an attempt whose outcome nobody knows"), a.schema(outcomeBody{})), a.declareOutcome)
	reviewed(a, withBody(op("POST", "/v1/messages/{id}/requeue", "requeue-message", "Messages",
		"Send a message that a restore of the store left unknown, since a person knows that it was not sent"), a.schema(cancelBody{})), a.requeue)
	reviewed(a, withBody(op("POST", "/v1/exceptions/{id}/resolve", "resolve-exception", "Exceptions",
		"Attach an exception's evidence to an attempt, dismiss it, or read its receipt again"), a.schema(resolveBody{})), a.resolveException)
}

type outcomeBody struct {
	Outcome string `json:"outcome" doc:"accepted: the provider took it. not_sent: it did not; the attempt counts as refused, and nothing of the message is sent again."`
	Attempt int    `json:"attempt,omitempty" doc:"Else every attempt without an outcome."`
	Part    int    `json:"part,omitempty" doc:"Of a long message; else all parts."`
	By      string `json:"by" doc:"The person who says so."`
	Reason  string `json:"reason" doc:"How that is known; it is kept in the message's history."`
}

const (
	rightOutcome       = "write accepted or not_sent"
	rightOutcomeReason = "write how you know what became of it; it is kept in the message's history"
)

// declareOutcome takes a person's word on attempts of which nobody knows whether the provider took them.
func (a *API) declareOutcome(ctx context.Context, in *smallOneIn) (OneMessageView, error) {
	id, err := parseID[ident.Message](in.ID)
	if err != nil {
		return OneMessageView{}, err
	}
	w := receipt.Word{Message: id, Tenant: subjectOf(ctx)}
	err = decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{
			{"outcome", d.outcome(&w.Outcome)}, {"attempt", d.number(&w.Attempt)}, {"part", d.number(&w.Part)},
			{"by", d.required(&w.Person, rightBy)}, {"reason", d.required(&w.Reason, rightOutcomeReason)},
		}
	}, needed{"outcome", rightOutcome}, needed{"by", rightBy}, needed{"reason", rightOutcomeReason})
	if err != nil {
		return OneMessageView{}, err
	}
	d := &decoder{}
	d.shown("by", w.Person)
	d.shown("reason", w.Reason)
	if err := d.fault(); err != nil {
		return OneMessageView{}, err
	}
	if err := a.mayMoveMoney(ctx, id); err != nil {
		return OneMessageView{}, err
	}
	w.Person = principalOf(ctx).does(w.Person)
	if err := a.cfg.Resolver.Declare(ctx, w); err != nil {
		return OneMessageView{}, err
	}
	m, err := a.message(ctx, id)
	if err != nil {
		return OneMessageView{}, err
	}
	return a.oneMessage(ctx, m)
}

// outcome reads what a person says of an attempt.
func (d *decoder) outcome(into *message.Outcome) memberReader {
	return func(v strictjson.Value, pointer string) {
		if !d.is(v, pointer, strictjson.String) {
			return
		}
		o, _ := message.ParseOutcome(v.Text)
		if o != message.OutcomeAccepted && o != message.OutcomeNotSent {
			d.wrong(pointer, "no such outcome: %s", rightOutcome)
		}
		*into = o
	}
}

// errOperatorsWord refuses a prepaid tenant's own word on what moves its money.
var errOperatorsWord = fault.New(fault.Scope, "this tenant pays for what it sends, and this word moves money or may send a second time: "+
	"it is the operator's, who has the carrier's list. Ask those who run the installation; nothing was changed")

// mayMoveMoney refuses a prepaid tenant's own word on one of its messages. What is not the caller's is not there.
func (a *API) mayMoveMoney(ctx context.Context, id ident.Message) error {
	if _, err := a.message(ctx, id); err != nil {
		return err
	}
	return a.mayGiveWord(ctx)
}

// mayGiveWord lets through whoever asks about another tenant, being the operator, and tenants that pay nothing. A store that
// does not answer lets nobody through.
func (a *API) mayGiveWord(ctx context.Context) error {
	own := principalOf(ctx).Tenant
	if own == a.cfg.Installation || subjectOf(ctx) != own {
		return nil
	}
	_, err := a.cfg.Store.Wallet(ctx, own)
	switch {
	case err == nil:
		return errOperatorsWord
	case fault.CodeOf(err) == fault.NotFound:
		return nil
	}
	return err
}

// mayResolve refuses a prepaid tenant's own word that an answer stands: it may be a refusal, which gives back what was
// paid. A receipt says that the provider has the message, and gives nothing back.
func (a *API) mayResolve(ctx context.Context, r *store.Resolution) error {
	if r.Action != exception.Attach {
		return nil
	}
	x, err := a.cfg.Store.Exception(ctx, r.Tenant, r.Exception)
	if err != nil || !x.Receipt.IsZero() {
		return err
	}
	return a.mayGiveWord(ctx)
}

// personOf names who gives a word: a tenant's people by name, those who run the installation by their key alone.
func personOf(ctx context.Context) string {
	if who := principalOf(ctx); subjectOf(ctx) == who.Tenant {
		return who.Person
	}
	return by(ctx)
}
