package api

import (
	"context"
	"encoding/hex"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// DecisionView is a decision with what it was taken on (D14).
type DecisionView struct {
	ID               string        `json:"id"`
	At               string        `json:"at" format:"date-time"`
	Action           string        `json:"action" doc:"allow, suppress or refused. Accept unknown values."`
	Class            string        `json:"class" doc:"What the request is: new_intent, technical_duplicate, controlled_retry or legitimate_repeat. Accept unknown values."`
	Reason           string        `json:"reason" doc:"Accept unknown values."`
	Rule             string        `json:"rule"`
	PolicyVersion    string        `json:"policy_version"`
	Explanation      string        `json:"explanation"`
	WindowEnds       *string       `json:"window_ends" format:"date-time" doc:"When the same request would be a new one by the clock alone; null: not known yet."`
	SameText         *bool         `json:"same_text" doc:"Whether the text is that of the message it was compared with; null: there was none."`
	PreviousState    *string       `json:"previous_state" doc:"The compared message's state at that moment."`
	Message          *MessageThen  `json:"message" doc:"null: the request was refused and made none."`
	Guards           []GuardView   `json:"guards" nullable:"false" doc:"What the rules beside deduplication said, in their order, up to the first that refused; none of a repeat."`
	Connection       *string       `json:"connection" doc:"That was chosen for the message; null: there is none."`
	Purpose          string        `json:"purpose"`
	To               string        `json:"to" doc:"The destination, masked."`
	Sender           string        `json:"sender"`
	Event            *EventView    `json:"event,omitempty"`
	Template         *TemplateView `json:"template,omitempty"`
	CorrelationID    string        `json:"correlation_id,omitempty"`
	DeduplicationKey string        `json:"deduplication_key" doc:"A keyed hash of the intent, in hexadecimal."`
	Mode             string        `json:"mode" doc:"enforce, or monitor: a repeat is let through. Accept unknown values."`
	Would            *string       `json:"would" doc:"What deduplication would have done: where mode monitor let the request through, such as suppress, and where a rule refused it. null: what it said was done."`
	StateSource      *StateSource  `json:"state_source" doc:"By what the compared message had come to that state; null: nothing was compared, or it was being sent, which has no event. Lists do not have it."`
	ComparedWith     *string       `json:"compared_with" doc:"The message that the request was compared with; null: there was none."`
	MatchedKey       *string       `json:"matched_key" doc:"The key under which that message was found, where it is another than deduplication_key: that of an older policy version, or of the intent with this very text."`
	MappedBy         *string       `json:"mapped_by" doc:"The policy's rule that gave purpose and event to a request without; null: none did."`
	IdempotencyKey   *string       `json:"idempotency_key" doc:"A keyed hash of the client's key; null: it sent none."`
	Caller           string        `json:"caller" doc:"The public id of the API key that asked."`
	Run              *RunView      `json:"run,omitempty" doc:"Present where further repeats were counted with this decision instead of being recorded one by one."`
}

// RunView is what a decision stands for in a storm of repeats.
type RunView struct {
	First string `json:"first" format:"date-time"`
	Last  string `json:"last" format:"date-time"`
	Count int64  `json:"count" doc:"How many repeats, the first one included."`
}

func runView(d *store.Decision) *RunView {
	if d.Run == nil {
		return nil
	}
	return &RunView{at(d.At), at(d.Run.Last), d.Run.Count}
}

// StateSource is the event of a message by which it came to a state.
type StateSource struct {
	N       int     `json:"n" doc:"The event's number in the message's history."`
	At      string  `json:"at" format:"date-time"`
	Kind    string  `json:"kind" doc:"As in the timeline: taken, outcome, receipt, cancelled. Accept unknown values."`
	Attempt int     `json:"attempt,omitempty"`
	Part    int     `json:"part,omitempty"`
	Receipt *string `json:"receipt,omitempty" doc:"The receipt that reported it."`
}

func stateSource(e *evidence.Event) *StateSource {
	if e == nil {
		return nil
	}
	return &StateSource{N: int(e.N), At: at(e.At), Kind: string(e.Kind), Attempt: int(e.Attempt), Part: int(e.Part), Receipt: idOrNull(e.Receipt)}
}

// MessageThen is what the answer said of the message.
type MessageThen struct {
	ID               string  `json:"id"`
	State            string  `json:"state"`
	ReportedDelivery *string `json:"reported_delivery"`
	Attempts         int     `json:"attempts"`
}

func messageThen(m *intent.Snapshot) *MessageThen {
	if m.ID.IsZero() {
		return nil
	}
	return &MessageThen{m.ID.String(), m.State.String(), orNull(m.Delivery), m.Attempts}
}

// decisionView shows a decision. names are the connections'.
func decisionView(d *store.Decision, names map[int64]string) DecisionView {
	return DecisionView{
		ID: d.ID.String(), At: at(d.At), Action: d.Action.String(), Class: d.Class.String(), Reason: string(d.Reason),
		Rule: d.Rule, PolicyVersion: d.PolicyID, Explanation: d.Explanation, WindowEnds: stamp(d.WindowEnds),
		SameText: d.SameText, PreviousState: orNull(d.PreviousState.String()),
		Message: messageThen(&d.Message), Guards: guardViews(d.Guards),
		Purpose: d.Purpose, To: masked(d.Destination, ""), Sender: d.Sender, Event: eventView(d.Event),
		StateSource: stateSource(d.StateSource), Mode: string(d.Mode), Would: orNull(d.Would.String()), ComparedWith: idOrNull(d.Compared), MatchedKey: hashed(d.MatchedKey), MappedBy: orNull(d.MappedBy),
		Template: templateView(d.Template), CorrelationID: d.CorrelationID,
		DeduplicationKey: hex.EncodeToString(d.IntentKey[:]), IdempotencyKey: hashed(d.IdempotencyKey), Caller: d.Caller,
		Connection: orNull(names[d.Message.Connection]), Run: runView(d),
	}
}

// idOrNull is an id, nil for none.
func idOrNull[K ident.Kind](id ident.ID[K]) *string {
	if id.IsZero() {
		return nil
	}
	return orNull(id.String())
}

func hashed(k intent.Key) *string {
	if k.IsZero() {
		return nil
	}
	return orNull(hex.EncodeToString(k[:]))
}

type aboutIn struct {
	Message string `query:"message" doc:"Only what is about this message."`
	Paging
}

// read reads the message and the paging.
func (in *aboutIn) read() (ident.Message, store.Page, error) {
	d := &decoder{}
	p := in.page(d)
	about := d.messageID("message", in.Message)
	return about, p, d.fault()
}

func (a *API) listDecisions(ctx context.Context, in *aboutIn) (List[DecisionView], error) {
	about, p, err := in.read()
	if err != nil {
		return List[DecisionView]{}, err
	}
	found, err := a.cfg.Store.Decisions(ctx, principalOf(ctx).Tenant, about, p)
	if err != nil {
		return List[DecisionView]{}, err
	}
	names, err := a.cfg.Store.ConnectionNames(ctx)
	view := func(d *store.Decision) DecisionView { return decisionView(d, names) }
	return paged(in.Limit, found, view, decisionPlace), err
}

func decisionPlace(d *store.Decision) (clock.Micros, [16]byte) { return d.At, d.ID }

func (a *API) getDecision(ctx context.Context, in *oneIn) (OneDecisionView, error) {
	id, err := parseID[ident.Decision](in.ID)
	if err != nil {
		return OneDecisionView{}, err
	}
	d, err := a.cfg.Store.Decision(ctx, principalOf(ctx).Tenant, id)
	if err != nil {
		return OneDecisionView{}, err
	}
	names, err := a.cfg.Store.ConnectionNames(ctx)
	return OneDecisionView{decisionView(d, names), a.otherwise(ctx, d)}, err
}
