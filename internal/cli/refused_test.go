package cli

import (
	"net/http"
	"strings"
	"testing"
)

// covers: D4, D14
func TestRefusalsAreToldAndExplained(t *testing.T) {
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			reply(w, 402, `{"code":"funds","title":"The message cannot be paid","detail":"The balance does not cover it.","decision":{"id":"dec_4","rule":"wallet.balance"}}`)
			return
		}
		reply(w, 200, `{"id":"dec_4","at":"2026-12-31T10:00:00Z","action":"refused","would":"allow","class":"new_intent","reason":"no_equivalent","rule":"wallet.balance",
			"policy_version":"shop@8","explanation":"The balance does not cover it. Nothing was reserved or sent.","mode":"enforce","message":null,
			"guards":[{"rule":"wallet.balance","kind":"funds","result":"refuse"}],"purpose":"order_confirmation","to":"+1202•••0143","caller":"k3v9",
			"otherwise":"Nothing is held by it."}`)
	})
	code, _, errs := m.run("send", "--to", "+12025550143", "--text", "x")
	if code != exitRefused || !strings.Contains(errs, "The message cannot be paid: The balance does not cover it.") || !strings.Contains(errs, "einmal explain dec_4") {
		t.Errorf("%d %s", code, errs)
	}
	code, out, errs := m.run("explain", "dec_4")
	if code != 0 || errs != "" {
		t.Errorf("%d %s", code, errs)
	}
	golden(t, "explain_refused.golden", out)
}
