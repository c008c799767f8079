package smpp_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/provider/providertest"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/provider/smpp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// smsc starts a simulator that ends with the test, and returns it with the path of its ledger.
func smsc(t *testing.T, cfg simulator.Config) (*simulator.Server, string) {
	t.Helper()
	cfg.LedgerPath = filepath.Join(t.TempDir(), "ledger.jsonl")
	s := simulator.New(cfg)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, cfg.LedgerPath
}

func config(address string) smpp.Config {
	return smpp.Config{
		Name: "simulated", Address: address, SystemID: "einmal", Password: "secret",
		ResponseTimeout: 200 * time.Millisecond, BackoffMin: 10 * time.Millisecond,
	}
}

func accepts(t *testing.T, path string) (n int) {
	t.Helper()
	entries, err := simulator.ReadLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Outcome == simulator.Accepted {
			n++
		}
	}
	return n
}

// covers: D9, R5
func TestConformance(t *testing.T) { conforms(t, func(c smpp.Config) smpp.Config { return c }) }

// covers: D9, R5
func TestConformanceOfSeparateBinds(t *testing.T) {
	conforms(t, func(c smpp.Config) smpp.Config {
		c.SeparateBinds = true
		return c
	})
}

func conforms(t *testing.T, with func(smpp.Config) smpp.Config) {
	providertest.Run(t, func(t *testing.T) providertest.Bench {
		s, ledger := smsc(t, simulator.Config{Echo: true})
		endings := map[providertest.Behaviour]string{
			providertest.Accepts: "00", providertest.Rejects: "02", providertest.Throttles: "03",
			providertest.LosesAnswer: "04", providertest.Cuts: "12", providertest.ReportsBefore: "09",
		}
		return providertest.Bench{
			Provider:    smpp.New(with(config(s.Addr()))),
			Destination: func(b providertest.Behaviour) string { return "+120255501" + endings[b] },
			Taken:       func() int { return accepts(t, ledger) },
			Inbound: func(text string) {
				if err := s.Inbound("einmal", "12025550143", "12025550100", text); err != nil {
					t.Error(err)
				}
			},
			Patience: 10 * time.Second,
		}
	})
}
