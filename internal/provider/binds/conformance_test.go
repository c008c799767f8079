package binds_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/provider/binds"
	"github.com/einmal/einmal/internal/provider/providertest"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/provider/smpp"
)

// held is a provider whose two binds are held from its start on.
type held struct{ *binds.Provider }

// covers: D9, R5
func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Bench {
		ledger := filepath.Join(t.TempDir(), "ledger.jsonl")
		s := simulator.New(simulator.Config{Echo: true, LedgerPath: ledger})
		must(t, s.Start())
		t.Cleanup(func() { must(t, s.Close()) })
		endings := map[providertest.Behaviour]string{
			providertest.Accepts: "00", providertest.Rejects: "02", providertest.Throttles: "03",
			providertest.LosesAnswer: "04", providertest.Cuts: "12", providertest.ReportsBefore: "09",
		}
		return providertest.Bench{
			Provider: held{binds.New(func(int) provider.Provider {
				return smpp.New(smpp.Config{
					Name: "simulated", Address: s.Addr(), SystemID: "einmal", Password: "secret",
					ResponseTimeout: 200 * time.Millisecond, BackoffMin: 10 * time.Millisecond,
				})
			})},
			Destination: func(b providertest.Behaviour) string { return "+120255501" + endings[b] },
			Taken: func() (n int) {
				entries, err := simulator.ReadLedger(ledger)
				must(t, err)
				for _, e := range entries {
					if e.Outcome == simulator.Accepted {
						n++
					}
				}
				return n
			},
			Inbound:  func(text string) { must(t, s.Inbound("einmal", "12025550143", "12025550100", text)) },
			Patience: 10 * time.Second,
		}
	})
}

// Start implements provider.Provider.
func (h held) Start(ctx context.Context, sink provider.Sink) error {
	err := h.Provider.Start(ctx, sink)
	for n := range 2 {
		err = errors.Join(err, h.Hold(n, time.Now().Add(time.Hour)))
	}
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
