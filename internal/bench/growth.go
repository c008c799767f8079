package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// What a decision may cost more with many keys stored, than with few.
const (
	mostOfSingle = 1.2
	mostOfBatch  = 1.5
)

// fewKeys is what many keys are compared with.
const fewKeys = 100_000

// Growth compares decisions over a register that holds many keys with those over one that holds few.
func Growth(ctx context.Context, o Options, keys int) (*Report, error) {
	b, err := start(ctx, "growth", o)
	if err == nil && keys <= fewKeys {
		err = fmt.Errorf("--keys: write more than %d, which is what it is compared with", fewKeys)
	}
	if err == nil {
		err = b.growth(ctx, keys)
	}
	return b.end(err)
}

func (b *bench) growth(ctx context.Context, keys int) (err error) {
	few, err := b.grown(ctx, fewKeys)
	if err != nil {
		return err
	}
	defer closing(&err, few)
	many, err := b.grown(ctx, keys)
	if err != nil {
		return err
	}
	defer closing(&err, many)
	for _, c := range []struct {
		what    string
		callers int
		most    float64
	}{{"a decision alone", 1, mostOfSingle}, {"decisions in batches of 256", batchSize, mostOfBatch}} {
		all, err := b.turns(ctx, c.what, many.side(c.callers), few.side(c.callers))
		if err != nil {
			return err
		}
		us, them := merge(many.name(), all[0]), merge(few.name(), all[1])
		l := Line{What: fmt.Sprintf("%s, time with %d keys / with %d", c.what, keys, fewKeys), Unit: "ratio", Goal: atMost(c.most), Ours: us, Against: them}
		for i := range all[0] {
			l.Rounds = append(l.Rounds, all[1][i].perSecond()/all[0][i].perSecond())
		}
		l.Value = median(l.Rounds)
		b.add(l.judged())
	}
	return nil
}

// grown is an engine over a register that holds keys already.
type grown struct {
	*engine
	bench   *bench
	scratch *scratch
	keys    int
	decided int
}

func (b *bench) grown(ctx context.Context, keys int) (*grown, error) {
	s, err := newScratch(ctx, b.Options)
	if err != nil {
		return nil, err
	}
	g := &grown{bench: b, scratch: s, keys: keys}
	if g.engine, err = s.startEngine(ctx); err == nil {
		err = g.fill(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// Close removes the store.
func (g *grown) Close() error {
	var err error
	if g.engine != nil {
		err = g.engine.Close()
	}
	return errors.Join(err, g.scratch.Close())
}

func (g *grown) name() string { return fmt.Sprintf("%d keys", g.keys) }

// The keys are random, as keyed hashes are. Those of a piece are put in by their order, which is quicker and leaves
// the same.
const (
	postgresKeys = `insert into register (space, key, owner, ends)
		select 2, decode(md5(random()::text || n), 'hex') as key, decode(md5(n::text), 'hex'), 9000000000000000 from generate_series(1, $1) n order by key`
	sqliteKeys = `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < $1)
		insert into register (space, key, owner, ends) select 2, randomblob(16), randomblob(16), 9000000000000000 from numbers order by 2`
)

// fill puts keys of the space of intents into the register.
func (g *grown) fill(ctx context.Context) (err error) {
	db, err := g.scratch.bare(1)
	if err != nil {
		return err
	}
	defer closing(&err, db)
	statement := postgresKeys
	if g.bench.Store == sqliteStore {
		statement = sqliteKeys
	}
	const piece = 500_000
	for done := 0; done < g.keys; done += piece {
		g.bench.Progress("filling the register with "+g.name(), done, g.keys)
		if _, err := db.ExecContext(ctx, statement, min(piece, g.keys-done)); err != nil {
			return err
		}
	}
	g.checkpoint(ctx, db)
	return nil
}

// checkpoint ends the work that filling left to be done later, so that it is no part of what is measured. A role that
// may not do it measures a little of it.
func (g *grown) checkpoint(ctx context.Context, db *sql.DB) {
	statement := "checkpoint"
	if g.bench.Store == sqliteStore {
		statement = "pragma wal_checkpoint(truncate)"
	}
	_, _ = db.ExecContext(ctx, statement)
}

// side decides new orders, so many at a time.
func (g *grown) side(callers int) side {
	return side{g.name(), func(ctx context.Context) (sample, error) {
		n, from := g.bench.Count, g.decided
		if callers == 1 {
			n = max(n/slower, 1)
		}
		g.decided += n
		m := g.bench.meter()
		lat, err := inParallel(ctx, callers, n, func(i int) error { return g.decideOne(ctx, from+i) })
		return m.stop(n, lat), err
	}}
}
