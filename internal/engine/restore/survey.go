package restore

import (
	"context"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// Count is how many there are, or how many at least.
type Count struct {
	N    int
	More bool // there may be more: it was counted no further
}

// Survey is what a store holds that is not finished.
type Survey struct {
	store.Incarnation
	Waiting, Sending Count
	InDoubt          Count              // become unknown with a release, or are still to with the one that is under way
	First            []store.Unfinished // the first of those
}

// Survey says what is not finished, and what of it is in doubt if the copy was taken at asOf (0: not known). It costs
// the same however much there is, but for counting it. A time that a release would refuse is refused here, too.
func (s *Service) Survey(ctx context.Context, asOf clock.Micros) (*Survey, error) {
	if err := s.possible(ctx, asOf); err != nil {
		return nil, err
	}
	i, err := s.cfg.Store.Incarnation(ctx)
	if err != nil {
		return nil, err
	}
	v := &Survey{Incarnation: i}
	waiting, sending, err := s.cfg.Store.CountUnfinished(ctx, maxCounted+1)
	if err != nil {
		return nil, err
	}
	v.Waiting, v.Sending = counted(waiting), counted(sending)
	if r := i.Release; r != nil {
		if r.KeepPending {
			return v, nil
		}
		if asOf == 0 {
			asOf = r.AsOf
		}
	}
	return v, s.countDoubted(ctx, v, asOf)
}

func (s *Service) possible(ctx context.Context, asOf clock.Micros) error {
	if asOf == 0 {
		return nil
	}
	now, err := s.cfg.Store.Now(ctx)
	if words := impossible(asOf, now); err == nil && words != "" {
		f := fault.New(fault.Invalid, "no copy can have been taken then")
		f.Fields = []fault.Field{{Pointer: "#/as_of", Detail: words}}
		return f
	}
	return err
}

func counted(n int) Count { return Count{min(n, maxCounted), n > maxCounted} }

// countDoubted counts what is in doubt. Where nothing is known of the copy, that is all of it, and only the first have
// to be looked at.
func (s *Service) countDoubted(ctx context.Context, v *Survey, asOf clock.Micros) error {
	size, looked := maxPage, 0
	if asOf == 0 {
		size = maxFirst
		v.InDoubt = Count{v.Waiting.N + v.Sending.N, v.Waiting.More || v.Sending.More}
	}
	return s.each(ctx, size, func(page []store.Unfinished) (bool, error) {
		for _, u := range page {
			if !doubted(u, asOf) {
				continue
			}
			if asOf != 0 {
				v.InDoubt.N++
			}
			if len(v.First) < maxFirst {
				v.First = append(v.First, u)
			}
		}
		looked += len(page)
		if asOf == 0 {
			return len(v.First) < maxFirst, nil
		}
		v.InDoubt.More = looked >= maxLookedAt && looked < v.Waiting.N+v.Sending.N
		return looked < maxLookedAt, nil
	})
}

func doubted(u store.Unfinished, asOf clock.Micros) bool {
	return evidence.InDoubt(u.State, u.CreatedAt, u.ValidUntil, u.Open, asOf)
}

// each gives what is not finished in pages, as long as the function wants more of them.
func (s *Service) each(ctx context.Context, size int, do func([]store.Unfinished) (more bool, err error)) error {
	var at store.Cursor
	for {
		page, next, err := s.cfg.Store.Unfinished(ctx, at, size)
		if err != nil {
			return err
		}
		more, err := do(page)
		if err != nil || !more || next == (store.Cursor{}) {
			return err
		}
		at = next
	}
}
