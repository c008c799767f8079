package evidence

import (
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
)

// actionDeclared is the action of an event by which a person settled an attempt without an exception.
const actionDeclared exception.Action = "declare"

// declared takes a person's word on attempts of which nobody knows whether the provider took them: the carrier's own list
// says it, for instance. Final or not, the message goes to where its attempts are then. What the provider did not take
// counts as refused by it: a word sends nothing again, whatever is left of the message, since it may be wrong.
//
// Each attempt that is meant gets an event of its own.
func (c *Case) declared(e Evidence, now clock.Micros) error {
	meant, err := c.unsettled(e)
	if err != nil {
		return err
	}
	for _, a := range meant {
		answer := Evidence{Outcome: e.Outcome, Code: a.Code, CodeName: a.CodeName}
		if e.Outcome == message.OutcomeNotSent {
			answer.Outcome = message.OutcomeRejected
		}
		if err := c.letAnswerStand(a, answer, now); err != nil {
			return err
		}
		c.correct(Event{Kind: EventResolved, Attempt: a.Attempt, Part: a.Part, Detail: map[string]string{
			"by": e.Person, "reason": e.Reason, "action": string(actionDeclared), "outcome": e.Outcome.String(),
		}}, now)
	}
	return nil
}

// unsettled lists the attempts without an outcome that a person names: all of them, where none is named.
func (c *Case) unsettled(e Evidence) (meant []*Attempt, err error) {
	if e.Outcome != message.OutcomeAccepted && e.Outcome != message.OutcomeNotSent {
		return nil, ErrState
	}
	err = ErrNoAttempt
	for i := range c.Attempts {
		a := &c.Attempts[i]
		if e.Attempt != 0 && e.Attempt != a.Attempt || e.Part != 0 && e.Part != a.Part {
			continue
		}
		if err = ErrSettled; a.Outcome == message.OutcomeUnknown {
			meant = append(meant, a)
		}
	}
	if len(meant) > 0 {
		return meant, nil
	}
	return nil, err
}

// tookIt reports whether an event is a person's word that the provider took an attempt.
func (e *Event) tookIt() bool {
	return e.Detail["action"] == string(actionDeclared) && e.Detail["outcome"] == message.OutcomeAccepted.String()
}

// Declared reports whether a person said it of an attempt itself, and not of an exception.
func (e *Event) Declared() bool {
	return e.Kind == EventResolved && e.Detail["action"] == string(actionDeclared)
}
