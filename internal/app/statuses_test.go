package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/app"
	wire "github.com/einmal/einmal/internal/smpp"
)

// What a carrier declares of its answers decides what becomes of a message: not taken is sent again, what may have been
// taken is not.
//
// covers: R7, I5
func TestStatusesThatACarrierDeclares(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, func(k *app.Connection) {
			k.Statuses = app.Statuses{Source: "the manual", Codes: map[string]string{"0x08": "retry_later", "1025": "throttled", "0x402": "unknown", "0x0B": "account"}}
		})
		g := start(t, c)
		answers := func(to string, codes ...wire.Status) string {
			r := g.post(alert("to "+to, to))
			if r.Status != http.StatusCreated {
				t.Fatalf("%d %s", r.Status, r.Raw)
			}
			for _, code := range codes {
				p := m.next()
				if code == wire.StatusOK {
					m.accept(p, "id-"+to)
				} else {
					m.answer(p, code, nil)
				}
			}
			return r.at("message.id")
		}
		again := answers("+12025550140", 0x08, 0x401, wire.StatusOK)
		if v := g.await(again, "accepted"); len(v.Body["attempts"].([]any)) != 3 {
			t.Errorf("it was not sent again: %s", v.Raw)
		}
		lost := answers("+12025550141", 0x402)
		if v := g.await(lost, "unknown"); v.at("final") != "false" {
			t.Errorf("a vendor's code that is declared as unknown: %s", v.Raw)
		}
		if v := g.await(answers("+12025550142", 0xFF), "unknown"); v.at("final") != "false" {
			t.Errorf("a code that is not declared: %s", v.Raw)
		}
		if v := g.await(answers("+12025550143", 0x0B), "rejected"); v.at("final") != "true" {
			t.Errorf("the account is wrong: %s", v.Raw)
		}
		if shown := g.call(http.MethodGet, "/metrics", nil).Raw; !strings.Contains(shown, `einmal_connection_pauses_total{connection="carrier"} 1`) {
			t.Error("the connection was not paused")
		}
	})
}
