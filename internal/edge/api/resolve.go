package api

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/edge/api/strictjson"
	"github.com/einmal/einmal/internal/engine/receipt"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Resolver is what the API needs of engine/receipt. Errors are faults.
type Resolver interface {
	Resolve(ctx context.Context, r store.Resolution) error
	ResolveGroup(ctx context.Context, g receipt.Group, a exception.Action, person, reason string) (done int, failed []error, err error)
	// Declare takes a person's word on attempts of which nobody knows whether the provider took them.
	Declare(ctx context.Context, w receipt.Word) error
	// Replay reads a piece of a connection's log again.
	Replay(ctx context.Context, what receipt.Replay) (receipt.Replayed, error)
}

type resolveIn struct {
	ID          string `path:"id"`
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

type resolveBody struct {
	Action  string `json:"action" doc:"attach: the evidence belongs to this attempt, and stands, also against what was known. dismiss: nothing follows from it. reread: read its receipt again, after a parser or a setting was mended."`
	Message string `json:"message,omitempty" doc:"With attach: the message that is meant. It may be left out where the exception names one alone; of conflicting evidence, and of a status without a meaning, it can be no other."`
	Attempt int    `json:"attempt,omitempty" doc:"With attach: else the message's last one."`
	Part    int    `json:"part,omitempty" doc:"With attach: needed for a message of several parts."`
	State   string `json:"state,omitempty" doc:"With attach: what the receipt stands for, where its status has no documented meaning: en_route, accepted, delivered, undelivered, expired or unknown. Of evidence that says so itself it is refused."`
	By      string `json:"by" doc:"The person who does this."`
	Reason  string `json:"reason" doc:"Why; it is kept."`
}

const (
	rightAction        = "write attach, dismiss or reread"
	rightResolveReason = "write why; it is kept with the exception, and in the message's history"
)

func (a *API) resolveException(ctx context.Context, in *resolveIn) (ExceptionView, error) {
	id, err := parseID[ident.Exception](in.ID)
	if err != nil {
		return ExceptionView{}, err
	}
	r, err := decodeResolution(in.ContentType, in.RawBody)
	if err != nil {
		return ExceptionView{}, err
	}
	who := principalOf(ctx)
	r.Exception, r.Tenant, r.Person = id, subjectOf(ctx), who.does(r.Person)
	// What belongs to nobody's message is the installation's, and whoever runs it may say whose it is.
	r.Anywhere = r.Tenant == store.Installation && who.Scopes.Allow(ScopeAdmin)
	if err := a.mayResolve(ctx, &r); err != nil {
		return ExceptionView{}, err
	}
	if err := a.cfg.Resolver.Resolve(ctx, r); err != nil {
		return ExceptionView{}, err
	}
	return a.getException(ctx, &oneIn{ID: in.ID})
}

// does is the person of an act, with the key that it was done with.
func (p principal) does(person string) string { return fmt.Sprintf("%s (key %s)", person, p.Name) }

func decodeResolution(contentType string, body []byte) (r store.Resolution, err error) {
	var to, action string
	err = decodeSmall(contentType, body, func(d *decoder) members {
		return members{
			{"action", d.required(&action, rightAction)}, {"message", d.text(&to)}, {"attempt", d.number(&r.To.Attempt)}, {"part", d.number(&r.To.Part)},
			{"state", d.text(&r.State)}, {"by", d.required(&r.Person, rightBy)}, {"reason", d.required(&r.Reason, rightResolveReason)},
		}
	}, needed{"action", rightAction}, needed{"by", rightBy}, needed{"reason", rightResolveReason})
	if err != nil {
		return r, err
	}
	d := &decoder{}
	r.Action = d.action(action)
	d.shown("by", r.Person)
	d.shown("reason", r.Reason)
	d.target(&r, to)
	return r, d.fault()
}

// target reads what evidence is attached to, and what it stands for.
func (d *decoder) target(r *store.Resolution, to string) {
	if r.Action != exception.Attach && (to != "" || r.State != "" || r.To.Attempt > 0 || r.To.Part > 0) {
		d.wrong("#/action", "message, attempt, part and state belong to attach: leave them out")
	}
	r.To.Message = d.messageID("#/message", to)
	if to == "" && (r.To.Attempt > 0 || r.To.Part > 0) {
		d.wrong("#/message", "name the message whose attempt is meant")
	}
	if state, ok := message.ParseDelivery(r.State); r.State != "" && (!ok || state == message.DeliveryNone) {
		d.wrong("#/state", "write en_route, accepted, delivered, undelivered, expired or unknown")
	}
}

func (d *decoder) action(name string) exception.Action {
	if _, ok := exception.Actions[exception.Action(name)]; !ok && name != "" {
		d.wrong("#/action", "no such action: %s", rightAction)
	}
	return exception.Action(name)
}

// number reads the number of an attempt or of a part.
func (d *decoder) number(into *uint16) memberReader {
	return func(v strictjson.Value, pointer string) {
		if !d.is(v, pointer, strictjson.Number) {
			return
		}
		n, err := strconv.ParseUint(strings.TrimSpace(v.Text), 10, 16)
		if err != nil || n == 0 {
			d.wrong(pointer, "expected a whole number from 1 to 65535")
		}
		*into = uint16(n)
	}
}
