package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/provider/smpp"
)

// errLooking refuses what a carrier sends to a bind that only looks: it comes again to the one that works.
var errLooking = errors.New("this bind takes nothing")

type lookingSink struct{}

// Take implements provider.Sink.
func (lookingSink) Take(context.Context, []provider.RawEvent) error { return errLooking }

// TryBind binds once to a carrier, ends the bind, and says what came of it: "bound", or why not. A carrier that permits
// one bind may end the gateway's for it.
func (k Connection) TryBind(ctx context.Context, name string) (string, error) {
	c, err := k.carrier()
	if err == nil {
		err = credentials(&c, k)
	}
	if err != nil {
		return "", err
	}
	const never = time.Hour // a second try
	c.Name, c.Logger, c.BackoffMin, c.BackoffMax, c.BackoffRefused = name, slog.New(slog.DiscardHandler), never, never, never
	p := smpp.New(c)
	if err := p.Start(ctx, lookingSink{}); err != nil {
		return "", err
	}
	status := awaitBind(ctx, p)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return status, p.Stop(stopping)
}

func awaitBind(ctx context.Context, p *smpp.Provider) string {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if status := p.Status(); status != "connecting" {
			return status
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "no answer"
		}
	}
}

// Simulated reports whether a connection is the SMSC inside the gateway.
func (k Connection) Simulated() bool { return k.Kind == kindSimulator }
