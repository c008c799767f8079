package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/einmal/einmal/internal/edge/api"
	"github.com/einmal/einmal/internal/engine/restore"
	"github.com/einmal/einmal/internal/ground/clock"
)

// Restored is a store that no gateway of this data folder serves, for what follows a restore of it.
type Restored struct {
	app     *App
	service *restore.Service
}

// OpenRestored opens the store as a gateway would, and holds it if it went back in time. The data folder must be free.
func OpenRestored(ctx context.Context, c Config, log *slog.Logger) (*Restored, error) {
	a := New(c, log)
	for _, step := range []func(context.Context) error{a.openFolder, a.openStore} {
		if err := step(ctx); err != nil {
			_ = a.abandon() // the first error says it
			return nil, err
		}
	}
	return &Restored{a, restore.New(restore.Config{Store: a.store, Log: log})}, nil
}

// Survey says whether traffic waits, and what is in doubt if the copy was taken at asOf (zero: not known).
func (r *Restored) Survey(ctx context.Context, asOf time.Time) (api.RestoredView, error) {
	s, err := r.service.Survey(ctx, micros(asOf))
	if err != nil {
		return api.RestoredView{}, err
	}
	return api.NewRestoredView(s), nil
}

// Release notes that traffic is to go on.
func (r *Restored) Release(ctx context.Context, b api.ReleaseBody) error {
	asOf, err := time.Parse(time.RFC3339, b.AsOf)
	if b.AsOf == "" {
		asOf, err = time.Time{}, nil
	}
	if err != nil {
		return fmt.Errorf("as_of is not a time: write it like 2026-12-31T10:00:00Z")
	}
	ask := restore.Ask{AsOf: micros(asOf), KeepPending: b.KeepPending, Declared: b.Declare, Person: b.By, Reason: b.Reason}
	return r.service.Release(ctx, ask)
}

// Await does what the release needs and returns when traffic may go on. It may be interrupted, and goes on with the
// next call. Each second it tells how far it is.
func (r *Restored) Await(ctx context.Context, progress func(*api.RestoredView)) error {
	done := make(chan error, 1)
	go func() { done <- r.service.Finish(ctx) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			if v, err := r.Survey(ctx, time.Time{}); err == nil { // whether the release fails is told by itself
				progress(&v)
			}
		}
	}
}

// Close gives the store and the data folder up.
func (r *Restored) Close() error { return r.app.abandon() }

func micros(t time.Time) clock.Micros {
	if t.IsZero() {
		return 0
	}
	return clock.FromTime(t)
}
