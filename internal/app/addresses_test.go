package app_test

import (
	"fmt"
	"testing"

	"github.com/einmal/einmal/internal/app"
	wire "github.com/einmal/einmal/internal/smpp"
)

// A carrier that wants its addresses otherwise gets them so, and that is what is kept as sent.
//
// covers: R15
func TestAddressesAsTheCarrierWantsThem(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, func(k *app.Connection) {
			k.Addresses = app.Addresses{Alphanumeric: "5/1", ShortCode: "abbreviated", Number: "unknown", Destination: "0/0", ShortCodeDigits: 5}
		})
		g := start(t, c)
		for i, want := range []struct {
			sender, sent string
			source       wire.Address
		}{
			{"SHOP", "5/1 SHOP", wire.Address{TON: 5, NPI: 1, Addr: "SHOP"}},
			{"47110", "6/0 47110", wire.Address{TON: 6, NPI: 0, Addr: "47110"}},
			{"471100", "0/1 471100", wire.Address{TON: 0, NPI: 1, Addr: "471100"}},
		} {
			body := alert(fmt.Sprint(i), "+12025550143")
			body["sender"] = want.sender
			id := g.post(body).at("message.id")
			p := m.next()
			m.accept(p, fmt.Sprint("id-", i))
			sent := p.Body.(*wire.Message)
			if sent.Source != want.source || sent.Dest != (wire.Address{Addr: "12025550143"}) {
				t.Errorf("%s left as %+v to %+v", want.sender, sent.Source, sent.Dest)
			}
			a := g.await(id, "accepted").Body["attempts"].([]any)[0].(map[string]any)
			if a["source_sent"] != want.sent || a["destination_sent"] != "0/0 1202•••0143" {
				t.Errorf("%s: the attempt has %v", want.sender, a)
			}
		}
	})
}
