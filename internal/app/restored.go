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

// Release lets traffic go on, and returns when it may.
func (r *Restored) Release(ctx context.Context, b api.ReleaseBody) error {
	asOf, err := time.Parse(time.RFC3339, b.AsOf)
	if b.AsOf == "" {
		asOf, err = time.Time{}, nil
	}
	if err != nil {
		return fmt.Errorf("as_of is not a time: write it like 2026-12-31T10:00:00Z")
	}
	ask := restore.Ask{AsOf: micros(asOf), KeepPending: b.KeepPending, Declared: b.Declare, Person: b.By, Reason: b.Reason}
	if err := r.service.Release(ctx, ask); err != nil {
		return err
	}
	return r.service.Finish(ctx)
}

// Close gives the store and the data folder up.
func (r *Restored) Close() error { return r.app.abandon() }

func micros(t time.Time) clock.Micros {
	if t.IsZero() {
		return 0
	}
	return clock.FromTime(t)
}
