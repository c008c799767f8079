package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// sample is what one side measured in one round.
type sample struct {
	Count     int
	Took      time.Duration
	Latencies []time.Duration
	CPU       time.Duration // of the process that does the work
	StoreCPU  time.Duration // of the database server
}

func (s sample) perSecond() float64 { return float64(s.Count) / s.Took.Seconds() }

// Percentiles are exact, in milliseconds.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// percentiles sorts all and returns nil for none.
func percentiles(all []time.Duration) *Percentiles {
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	// The nearest rank: the smallest value that at least so many of a hundred do not exceed.
	rank := func(p float64) float64 {
		return ms(all[max(0, int(math.Ceil(p/100*float64(len(all))))-1)])
	}
	return &Percentiles{rank(50), rank(95), rank(99), rank(100)}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// merge is one side over all rounds.
func merge(name string, all []sample) *Side {
	var sum sample
	for _, s := range all {
		sum.Count += s.Count
		sum.Took += s.Took
		sum.CPU += s.CPU
		sum.StoreCPU += s.StoreCPU
		sum.Latencies = append(sum.Latencies, s.Latencies...)
	}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(max(sum.Count, 1)) }
	return &Side{
		Name: name, Count: sum.Count, PerSecond: sum.perSecond(), Latency: percentiles(sum.Latencies),
		CPU: each(sum.CPU), StoreCPU: each(sum.StoreCPU),
	}
}

// side is who takes turns. The first of a comparison is ours.
type side struct {
	name string
	run  func(ctx context.Context) (sample, error)
}

// turns lets each side run once a round. Who begins changes from round to round.
func (b *bench) turns(ctx context.Context, what string, sides ...side) ([][]sample, error) {
	all := make([][]sample, len(sides))
	for round := range b.Rounds {
		for k := range sides {
			i := (k + round) % len(sides)
			b.Progress(fmt.Sprintf("%s, round %d of %d: %s", what, round+1, b.Rounds, sides[i].name), 0, 0)
			got, err := sides[i].run(ctx)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", what, sides[i].name, err)
			}
			all[i] = append(all[i], got)
		}
	}
	return all, nil
}

// ratio compares rates, round by round.
func ratio(what string, goal *Goal, ours, against *Side, a, b []sample) Line {
	l := Line{What: what, Unit: "ratio", Goal: goal, Ours: ours, Against: against}
	for i := range a {
		l.Rounds = append(l.Rounds, a[i].perSecond()/b[i].perSecond())
	}
	l.Value = median(l.Rounds)
	return l.judged()
}

func median(all []float64) float64 {
	all = slices.Clone(all)
	slices.Sort(all)
	n := len(all)
	if n%2 == 1 {
		return all[n/2]
	}
	return (all[n/2-1] + all[n/2]) / 2
}
