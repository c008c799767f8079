package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// rules are the gateway's, with its default times.
func (e *engine) rules() store.Rules {
	return store.Rules{
		Correlate: evidence.Correlate,
		Grace:     15 * time.Minute, LookBack: 72 * time.Hour,
	}
}

// messageID is what the message centre calls message number n.
func messageID(n int) string { return fmt.Sprintf("%016x", n+1) }

// accept takes so many messages as far as their receipts: decided, claimed, opened, and accepted by a message centre.
// It returns each message's place: the number of its message id.
func (e *engine) accept(ctx context.Context, n int) (numbers []string, err error) {
	if _, err := inParallel(ctx, callers, n, func(i int) error { return e.decideOne(ctx, i) }); err != nil {
		return nil, err
	}
	node, turns := ident.NewNode(), &flow.Turns{}
	for len(numbers) < n {
		got, err := e.store.Claim(ctx, store.ClaimSpec{
			Node: node, Connection: e.connection, Room: flow.Room{All: batchSize, Lower: batchSize}, Turns: turns, Lease: time.Minute,
		})
		if err != nil {
			return nil, err
		}
		if len(got.Taken) == 0 {
			return nil, fmt.Errorf("%d of %d messages could be claimed", len(numbers), n)
		}
		opened, err := e.store.OpenAttempts(ctx, store.OpenSpec{
			Node: node, Connection: e.connection, IDSpace: e.space, AnswerBy: time.Minute,
		}, got.Taken)
		if err != nil {
			return nil, err
		}
		if err := e.answer(ctx, opened, len(numbers)); err != nil {
			return nil, err
		}
		for _, o := range opened {
			numbers = append(numbers, o.Destination)
		}
	}
	return numbers, nil
}

// answer settles that attempts were accepted, under message ids that go on from a number.
func (e *engine) answer(ctx context.Context, opened []store.Opened, from int) error {
	news := make([]store.News, len(opened))
	for i, o := range opened {
		news[i] = store.News{
			Evidence: evidence.Evidence{
				Kind: evidence.Outcome, Message: o.Message, Attempt: o.Attempt, Part: o.Part, Outcome: message.OutcomeAccepted,
				ExternalID: []byte(messageID(from + i)), Code: "0x00000000", CodeName: "ESME_ROK",
			},
			IDSpace: e.space, Connection: e.connection, Reference: -1,
		}
	}
	settled, err := e.store.Settle(ctx, news, e.rules())
	for _, s := range settled {
		if err == nil {
			err = s.Err
		}
	}
	return err
}
