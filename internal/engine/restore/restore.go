// Package restore lets traffic go on after a store went back in time (D20). Until its operator says so, nothing is
// decided or sent: see store.Incarnations. Then whatever the copy held as not finished becomes unknown, what was
// destroyed since is destroyed again, and a new incarnation of the store begins.
package restore

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// Store is the part of the store that is needed.
type Store interface {
	store.Incarnations
	store.Settler
	DestroyOwnKeys(ctx context.Context, limit int) (int, error)
	Now(ctx context.Context) (clock.Micros, error)
}

// Config is a service's.
type Config struct {
	Store Store
	Rules store.Rules
	// Committed is called after messages were moved; nil: nobody cares. It must not block.
	Committed func()
	Every     time.Duration // how often it is looked whether somebody has asked another node for a release; 1 s
	Log       *slog.Logger
}

const (
	defaultEvery = time.Second
	maxBatch     = 256  // messages in one transaction
	maxPage      = 2000 // messages in one look
	maxFirst     = 100  // messages in doubt that are shown one by one
)

// Whoever asks what is in doubt is not to wait for a store with millions of messages, nor is the store to work for
// each question as it does for the release. So counts end somewhere.
const (
	maxCounted  = 1_000_000 // entries of the queue's index
	maxLookedAt = 10_000    // messages, to see whether the moment of the copy spares them
)

// Service releases a store that is held.
type Service struct {
	cfg    Config
	wake   chan struct{}
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// New returns a service that does nothing by itself until it is started.
func New(c Config) *Service {
	if c.Every == 0 {
		c.Every = defaultEvery
	}
	return &Service{cfg: c, wake: make(chan struct{}, 1)}
}

// Start begins to finish what releases have begun, on this node or another one, until Stop is called or ctx ends.
func (s *Service) Start(ctx context.Context) {
	ctx, s.cancel = context.WithCancel(ctx)
	s.done.Go(func() {
		tick := time.NewTicker(s.cfg.Every)
		defer tick.Stop()
		for {
			s.look(ctx)
			select {
			case <-tick.C:
			case <-s.wake:
			case <-ctx.Done():
				return
			}
		}
	})
}

// look finishes a release that somebody has asked for. A store that cannot be asked whether there is one says so itself:
// nothing is known of a release then.
func (s *Service) look(ctx context.Context) {
	i, err := s.cfg.Store.Incarnation(ctx)
	if err != nil || i.Release == nil {
		return
	}
	if err := s.finish(ctx, i); err != nil && ctx.Err() == nil {
		s.cfg.Log.Error("the release of the store is not finished and goes on", "error", err)
	}
}

// Stop ends it. What is left is finished at the next start.
func (s *Service) Stop() {
	s.cancel()
	s.done.Wait()
}

// Finish does what a release that was asked for needs, and ends it. Without one it does nothing. It works in short
// transactions, between which receipts and answers are stored; traffic goes on with the last one. It may be interrupted
// anywhere and repeated, and goes on with what is left; several nodes may do it at the same time.
func (s *Service) Finish(ctx context.Context) error {
	i, err := s.cfg.Store.Incarnation(ctx)
	if err != nil || i.Release == nil {
		return err
	}
	return s.finish(ctx, i)
}

func (s *Service) finish(ctx context.Context, i store.Incarnation) (err error) {
	for moved := 1; moved > 0 && err == nil; {
		moved, err = s.doubt(ctx, i.Release)
	}
	if err == nil {
		err = s.destroy(ctx)
	}
	if err == nil {
		err = s.cfg.Store.EndRelease(ctx, i.ID)
	}
	if err != nil {
		return err
	}
	s.cfg.Log.Warn("the store is released: traffic goes on", "by", i.Release.Person, "reason", i.Release.Reason, "incarnation", i.N+1)
	s.committed()
	return nil
}

// doubt makes unknown what is in doubt and returns how many messages have moved. It is repeated until there are
// none: a message may change its place in the queue while the queue is read.
func (s *Service) doubt(ctx context.Context, r *store.Release) (moved int, err error) {
	if r.KeepPending {
		return 0, nil // what was being sent becomes unknown by the end of its lease
	}
	return moved, s.each(ctx, maxBatch, func(page []store.Unfinished) (bool, error) {
		var news []store.News
		for _, u := range page {
			if doubted(u, r.AsOf) { // what is not cannot become so while the store is held
				news = append(news, store.News{Evidence: evidence.Evidence{Kind: evidence.Restored, Message: u.Message, AsOf: r.AsOf}, Reference: -1})
			}
		}
		if len(news) == 0 {
			return true, nil
		}
		settled, err := s.cfg.Store.Settle(ctx, news, s.cfg.Rules)
		for _, one := range settled {
			switch {
			case one.Err == nil:
				moved++
			case fault.CodeOf(one.Err) != fault.State && err == nil: // that one is not in doubt
				err = one.Err
			}
		}
		s.committed()
		return true, err
	})
}

// destroy ends the keys of codes whose time is over, which the copy has brought back. They are the only thing that is
// destroyed for good in this release, and the time that ends them is stored with them.
func (s *Service) destroy(ctx context.Context) error {
	for {
		n, err := s.cfg.Store.DestroyOwnKeys(ctx, maxBatch)
		if err != nil || n < maxBatch {
			return err
		}
	}
}

func (s *Service) committed() {
	if s.cfg.Committed != nil {
		s.cfg.Committed()
	}
}
