package smpp_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/provider/smpp"
)

type discard struct{}

func (discard) Take(context.Context, []provider.RawEvent) error { return nil }

// BenchmarkSubmit is a submission up to its outcome, with its receipt read and answered, against the simulator
// with a ledger in the same process.
func BenchmarkSubmit(b *testing.B) {
	s := simulator.New(simulator.Config{Echo: true, LedgerPath: filepath.Join(b.TempDir(), "ledger")})
	if err := s.Start(); err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	cfg := config(s.Addr())
	cfg.Window = 200
	p := smpp.New(cfg)
	if err := p.Start(b.Context(), discard{}); err != nil {
		b.Fatal(err)
	}
	defer p.Stop(context.Background())
	window := make(chan struct{}, cfg.Window)
	for b.Loop() {
		for p.Free() == 0 {
			<-p.Changed()
		}
		window <- struct{}{}
		p.Submit(message, func(o provider.Outcome) {
			if o.Kind != provider.Accepted {
				b.Errorf("%+v", o)
			}
			<-window
		})
	}
}
