package outbound

import (
	"context"
	"sync"

	"github.com/einmal/einmal/internal/ground/ident"
)

// Submitted is what became of one of several requests: an answer, or a fault.
type Submitted struct {
	Answer Answer
	Err    error
}

// SubmitAll has several requests decided together, and yet each by itself: what is wrong with one concerns no other.
// They come to their decision in their order, so that of equal ones the first makes the message. A dry run has no place
// in the line of decisions, and waits until those before it are decided: it says what would be decided in its place. With
// errors as Submit's.
func (s *Service) SubmitAll(ctx context.Context, subs []Submission) []Submitted {
	out, inside := make([]Submitted, len(subs)), s.writers.inside.Load()+1
	made, messages := make([]ids, len(subs)), make([]ident.Message, len(subs))
	for i := range subs {
		made[i] = newIDs(subs[i].Tenant)
		messages[i] = made[i].message
	}
	var all sync.WaitGroup
	for i := range subs {
		entered := make(chan struct{})
		inLine := sync.OnceFunc(func() { close(entered) })
		sub := subs[i]
		if sub.DryRun {
			all.Wait()
		}
		sub.turn = turn{inside: inside, entered: inLine, made: made[i], before: messages[:i]}
		all.Go(func() {
			defer inLine() // refused, or answered without a place in the line
			out[i].Answer, out[i].Err = s.Submit(ctx, sub)
		})
		<-entered
	}
	all.Wait()
	return out
}
