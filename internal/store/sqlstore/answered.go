package sqlstore

import (
	"context"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/store"
)

// AnswersSent implements store.Decider. Closing a key twice, or one that another message holds by now, changes
// nothing.
func (s *Store) AnswersSent(ctx context.Context, sent []store.AnswerSent) error {
	if len(sent) == 0 {
		return nil
	}
	err := single(s.persist(ctx, false, func(t *tx, _ bool) error {
		keys, closed := &rows{}, &rows{}
		for _, a := range sent {
			keys.add(intent.SpaceIntent, a.Key)
		}
		if err := t.lockKeys(t.ctx, keys); err != nil {
			return err
		}
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		for _, a := range sent {
			closed.add(intent.SpaceIntent, a.Key, a.Message, now)
		}
		_, err = t.exec(t.ctx, closeKeys, closed)
		chaos.At(chaos.AnswersWritten)
		return err
	}))
	if err == nil {
		chaos.At(chaos.AnswersCommitted)
	}
	return err
}
