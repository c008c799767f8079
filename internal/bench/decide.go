package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/einmal/einmal/internal/domain/intent"
)

// What decisions should reach, as docs/performance.md has it.
const (
	leastOfBatched  = 0.6
	leastOfByHand   = 8
	leastOfBareHTTP = 0.35
	leastOfRepeats  = 0.45
)

// callers is how many requests are under way in process: enough for every writer's batch to fill while the one
// before it commits.
const callers = 2048

// Decide measures decisions, in process, over HTTP, or both.
func Decide(ctx context.Context, o Options, process, http bool) (*Report, error) {
	b, err := start(ctx, "decide", o)
	if err == nil && process {
		err = b.decideInProcess(ctx)
	}
	if err == nil && http {
		err = b.decideOverHTTP(ctx)
	}
	return b.end(err)
}

// decideInProcess compares decisions with the same rows written by a bare batched insert, and with an
// application's own transaction for each request. Every turn has an empty store.
func (b *bench) decideInProcess(ctx context.Context) error {
	b.Progress("decisions in process: warming up", 0, 0)
	_, rows, err := b.decisions(ctx)
	if err != nil {
		return err
	}
	ours := side{"einmal", func(ctx context.Context) (sample, error) {
		got, _, err := b.decisions(ctx)
		return got, err
	}}
	batched := side{"bare batched insert", func(ctx context.Context) (sample, error) { return b.insertBare(ctx, rows) }}
	byHand := side{"a transaction a request", func(ctx context.Context) (sample, error) { return b.byHand(ctx, 1) }}
	handed := side{fmt.Sprintf("the same, %d at a time", b.writers()), func(ctx context.Context) (sample, error) { return b.byHand(ctx, b.writers()) }}
	all, err := b.turns(ctx, "decisions in process", ours, batched, byHand, handed)
	if err != nil {
		return err
	}
	us, bare, hand := merge(ours.name, all[0]), merge(batched.name, all[1]), merge(byHand.name, all[2])
	var batchedGoal, handGoal *Goal // they are set for PostgreSQL
	if b.Store != sqliteStore {
		batchedGoal, handGoal = atLeast(leastOfBatched), atLeast(leastOfByHand)
	}
	b.add(ratio("decisions in process / bare batched insert of the same rows", batchedGoal, us, bare, all[0], all[1]),
		ratio("decisions in process / one transaction a request", handGoal, us, hand, all[0], all[2]),
		figure("rows that a decision writes", rows.perItem(b.Count+warmUp), "rows", nil),
		figure("bytes that a decision writes, indexes included", float64(rows.bytes)/float64(b.Count+warmUp), "bytes", nil),
		figure("memory of this process at its most", ownMost(), "MiB", nil))
	return nil
}

// warmUp is how many decisions go before the measured ones of a turn: statements are prepared, caches filled.
const warmUp = 512

// decisions has new intents decided, all of them allowed, and returns the rows that they left.
func (b *bench) decisions(ctx context.Context) (got sample, made *copied, err error) {
	s, err := newScratch(ctx, b.Options)
	if err != nil {
		return got, nil, err
	}
	defer closing(&err, s)
	e, err := s.startEngine(ctx)
	if err != nil {
		return got, nil, err
	}
	before, err := s.size(ctx)
	if err != nil {
		return got, nil, errors.Join(err, e.Close())
	}
	_, err = inParallel(ctx, callers, warmUp, func(i int) error { return e.decideOne(ctx, b.Count+i) })
	if err == nil {
		m := b.meter()
		lat, failed := inParallel(ctx, callers, b.Count, func(i int) error { return e.decideOne(ctx, i) })
		got, err = m.stop(b.Count, lat), failed
	}
	if err = errors.Join(err, e.Close()); err != nil {
		return got, nil, err
	}
	made, err = s.leftSince(ctx, before, decisionTables)
	return got, made, err
}

func (e *engine) decideOne(ctx context.Context, n int) error {
	a, err := e.outbound.Submit(ctx, e.order(n))
	if err == nil && a.Decision.Action != intent.Allow {
		err = fmt.Errorf("request %d was not allowed: %s", n, a.Decision.Reason)
	}
	return err
}
