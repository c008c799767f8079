package app_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
)

// A message of which no receipt came is final, and still accepted, when the connection's time for receipts is over.
//
// covers: D5, D16
func TestReceiptTimeOfAConnection(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, declares(app.Declared{Time: app.Duration(time.Second)}))
		g := start(t, c)
		body := alert("short", "+12025550143")
		body["valid_for"] = "1s"
		id := g.post(body).at("message.id")
		m.accept(m.next(), "9001")
		if v := g.call(http.MethodGet, "/v1/messages/"+id+"?wait=20s", nil); v.at("state") != "accepted" || v.at("final") != "true" {
			t.Errorf("%s", v.Raw)
		}
	})
}
