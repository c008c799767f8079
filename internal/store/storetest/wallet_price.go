package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/wallet"
)

// testWalletPriceBegins decides beside the moment at which a price begins: the store's clock says which one holds, whatever
// the clock of the node that asks.
//
// covers: M4, I18
func testWalletPriceBegins(t *testing.T, h Harness) {
	p := newWorld(t, h).prepaid("timely", 1000)
	now, err := p.Now(context.Background())
	must(t, err)
	for i, c := range []struct {
		begins time.Duration // of the newer price, after now
		want   wallet.MicroUSD
	}{{5 * time.Minute, 5}, {-5 * time.Minute, 7}} {
		offer := wallet.Offer{{PerPart: 7, From: now.Add(c.begins)}, {PerPart: 5, From: now.Add(-time.Hour)}}
		change := func(r *intent.Request) { r.Charge = intent.Charge{Asked: true, Offer: offer} }
		at := func(event string) ask {
			return p.costing(0, ask{event: fmt.Sprint(event, i), version: "1", to: 3, change: change})
		}
		dry, err := p.Preview(context.Background(), p.submission(at("dry")), intent.Decide)
		must(t, err)
		made := p.decide(at("B"))[0]
		if dry.Price != c.want || made.Price != c.want || made.Decision.Action != intent.Allow {
			t.Errorf("a price that begins in %s: a part costs %d, and %d in a dry run, want %d", c.begins, made.Price, dry.Price, c.want)
		}
	}
	p.has(1000, 12, 0)
}
