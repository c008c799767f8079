package api

import (
	"context"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// knowledge is what messages are told by. While the store is held, what it says is not finished may have been sent
// since the copy was taken, and is unknown (D20). It is taken before messages are read: a hold that ends meanwhile has
// moved them before.
type knowledge struct{ held bool }

func (a *API) knowledge() knowledge { return knowledge{a.cfg.Held()} }

// known is a message as it can be told.
type known struct {
	*store.Message
	inDoubt bool // it is not finished in a store that is held
}

func (k knowledge) of(m *store.Message) known {
	if !k.held || !m.State.Unfinished() {
		return known{m, false}
	}
	told := *m
	told.State = m.State.WhileHeld()
	return known{&told, true}
}

// states lists the stored states that are told as s.
func (k knowledge) states(s message.State) []message.State {
	if k.held {
		return message.ToldAs(s)
	}
	return []message.State{s}
}

// message reads a message of the tenant that the call is about.
func (a *API) message(ctx context.Context, id ident.Message) (known, error) {
	k := a.knowledge()
	m, err := a.cfg.Store.Message(ctx, subjectOf(ctx), id)
	if err != nil {
		return known{}, err
	}
	return k.of(m), nil
}

// waitsForRelease is what happens next to a message while the store is held.
const waitsForRelease = "The store went back in time, and the message may have been sent since the copy was taken. Nothing is sent until the operator has run  einmal restored."
