package cli

import (
	"net/http"
	"strings"
	"testing"
)

const (
	suppressed = `{"id":"dec_2","at":"2026-12-31T10:00:42Z","action":"suppress","class":"technical_duplicate","reason":"same_intent_accepted",
		"rule":"order_confirmation.window","policy_version":"POLICY","explanation":"Message msg_1 for the same event was accepted by the provider 42 s ago.",
		"window_ends":"2027-01-30T10:00:00Z","same_text":true,"previous_state":"accepted","message":{"id":"msg_1","state":"accepted","attempts":1},
		"purpose":"order_confirmation","to":"+1202•••0143","sender":"SHOP","event":{"type":"order","id":"A-1001","version":"1"},"caller":"k3v9"}`
	made = `{"id":"dec_1","at":"2026-12-31T10:00:00Z","action":"allow","class":"new_intent","reason":"no_equivalent","rule":"order_confirmation.window",
		"policy_version":"builtin@1","explanation":"Nothing like it is known.","window_ends":null,"message":{"id":"msg_1"},"purpose":"order_confirmation","to":"+1202•••0143"}`
)

func explaining(t *testing.T, policyVersion string) *machine {
	decision := strings.Replace(suppressed, "POLICY", policyVersion, 1)
	return newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/decisions/dec_1":
			reply(w, 200, made)
		case "/v1/decisions/dec_2":
			reply(w, 200, decision)
		case "/v1/decisions":
			reply(w, 200, `{"data":[`+decision+`,`+made+`],"next":null}`)
		case "/v1/messages/msg_1":
			reply(w, 200, `{"id":"msg_1","state":"delivered","decision":"dec_1"}`)
		default:
			reply(w, 404, `{"code":"not_found","title":"There is no such thing"}`)
		}
	})
}

// covers: D14
func TestExplainSaysWhyARequestWasSuppressed(t *testing.T) {
	code, out, errs := explaining(t, "builtin@1").run("explain", "dec_2")
	for _, want := range []string{
		"Not sent a second time",
		"purpose order_confirmation to +1202•••0143, order A-1001 version 1, sender SHOP; with the API key k3v9",
		"Compared with  message msg_1, which was accepted at that moment; the text is the same",
		"was accepted by the provider 42 s ago",
		"suppress, technical_duplicate, same_intent_accepted",
		"order_confirmation.window of the policy builtin@1",
		"2027-01-30 10:00:00.000 UTC at the latest",
		"event id, event version or sender it would have been a new message, and so it would after the window's end; another idempotency key or another text alone changes nothing",
		"message msg_1 is delivered",
	} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%d, not said: %s\n%s%s", code, want, out, errs)
		}
	}
}

func TestExplainOfAnUnknownPolicyClaimsNothing(t *testing.T) {
	_, out, _ := explaining(t, "shop@7").run("explain", "dec_2")
	if !strings.Contains(out, "another of the fields named above") || strings.Contains(out, "event version or sender") || strings.Contains(out, "another text") {
		t.Error(out)
	}
}

func TestExplainOfAMessageListsItsRepeats(t *testing.T) {
	code, out, _ := explaining(t, "builtin@1").run("explain", "msg_1")
	for _, want := range []string{"Sent: this request made a message", "instead of a second SMS (1)", "dec_2  same_intent_accepted", "not known yet"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("not said: %s\n%s", want, out)
		}
	}
	if code, _, _ := explaining(t, "x").run("explain", "msg_2"); code != exitNotFound {
		t.Error(code)
	}
	if _, out, _ := explaining(t, "x").run("explain", "dec_1", "--json"); out != made {
		t.Error(out)
	}
}

func TestTimelineReadsAllPages(t *testing.T) {
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("after") == "" {
			reply(w, 200, `{"data":[{"at":"2026-12-31T10:00:00.5Z","kind":"taken","summary":"The gateway took the message."}],"next":"p2"}`)
			return
		}
		reply(w, 200, `{"data":[{"at":"later","kind":"conflict","summary":"Evidence\u001b]0;x\u0007 contradicts."}],"next":null}`)
	})
	_, out, _ := m.run("timeline", "msg_1")
	want := "TIME (UTC)               WHAT      DETAIL\n" +
		"2026-12-31 10:00:00.500  taken     The gateway took the message.\n" +
		"later                    conflict  Evidence�]0;x� contradicts.\n"
	if out != want {
		t.Errorf("%s", out)
	}
	if _, out, _ := m.run("timeline", "msg_1", "--json"); strings.Count(out, `"kind"`) != 2 {
		t.Error(out)
	}
}
