package cli

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/edge/api"
)

const (
	suppressed = `{"id":"dec_2","at":"2026-12-31T10:00:42Z","action":"suppress","class":"technical_duplicate","reason":"same_intent_accepted",
		"rule":"order_confirmation.window","policy_version":"POLICY","explanation":"Message msg_1 for the same event was accepted by the provider 42 s ago.",
		"window_ends":"2027-01-30T10:00:00Z","same_text":true,"previous_state":"accepted","compared_with":"msg_1","mode":"enforce","message":{"id":"msg_1","state":"accepted","attempts":1},
		"purpose":"order_confirmation","to":"+1202•••0143","sender":"SHOP","event":{"type":"order","id":"A-1001","version":"1"},"caller":"k3v9"}`
	made = `{"id":"dec_1","at":"2026-12-31T10:00:00Z","action":"allow","class":"new_intent","reason":"no_equivalent","rule":"order_confirmation.window",
		"policy_version":"builtin@1","explanation":"Nothing like it is known.","window_ends":null,"message":{"id":"msg_1"},"purpose":"order_confirmation","to":"+1202•••0143"}`
)

const letThrough = `{"id":"dec_3","at":"2026-12-31T10:00:42Z","action":"allow","would":"suppress","mode":"monitor","class":"technical_duplicate",
	"reason":"same_intent_accepted","rule":"order_confirmation.window","policy_version":"shop@8","explanation":"The policy shop@8 only monitors.",
	"same_text":true,"previous_state":"accepted","compared_with":"msg_9","matched_key":"00","mapped_by":"legacy","message":{"id":"msg_1"},"purpose":"order_confirmation","to":"+1202•••0143"}`

// covers: X3
func TestExplainSaysWhatWasOnlyMonitored(t *testing.T) {
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/decisions/dec_3" {
			reply(w, 200, letThrough)
		} else {
			reply(w, 200, `{"id":"msg_1","state":"delivered","decision":"dec_3"}`)
		}
	})
	code, out, errs := m.run("explain", "dec_3")
	for _, want := range []string{
		"Taken, though it was a repeat: this request made a message of its own.\nIts sending: reported delivered.\n",
		"Compared with  message msg_9, found under another key: of an older policy version, or of this very text, which was accepted at that moment; the text is the same",
		"allow, technical_duplicate, same_intent_accepted; mode monitor, which did not suppress",
		"by the policy's rule legacy",
	} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%d, not said: %s\n%s%s", code, want, out, errs)
		}
	}
}

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
		"Not sent a second time: this request was a repeat.\nThe first one's sending: reported delivered.\n",
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
	for _, want := range []string{"Taken: this request made a message.\nIts sending: reported delivered.\n", "instead of a second SMS (1)", "dec_2  same_intent_accepted", "not known yet"} {
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

// Taken, accepted and reported delivered are different facts.
//
// covers: D16
func TestExplainClaimsNoSendingThatIsNotKnown(t *testing.T) {
	attempt := func(outcome string) []api.AttemptView { return []api.AttemptView{{Attempt: 1, Outcome: outcome}} }
	for _, c := range []struct {
		state    string
		attempts []api.AttemptView
		want     string
	}{
		{"pending", nil, "waiting to be sent"}, {"pending", attempt("throttled"), "waiting to be sent again: no provider has taken it yet"},
		{"sending", attempt("open"), "being handed to the provider"}, {"accepted", attempt("accepted"), "accepted by the provider; no delivery is reported"},
		{"delivered", attempt("accepted"), "reported delivered"}, {"undelivered", attempt("accepted"), "reported undelivered"},
		{"rejected", attempt("rejected"), "rejected by the provider"}, {"unknown", attempt("unknown"), "unknown: it may have left"},
		{"expired", nil, "expired before it was sent"}, {"expired", attempt("accepted"), "where it expired"},
		{"failed", attempt("not_sent"), "failed: not sent"}, {"cancelled", nil, "cancelled before it was sent"}, {"of\u202ethe future", nil, "the state is of�the future"},
	} {
		var out bytes.Buffer
		explainDecision(&Env{Stdout: &out, Getenv: func(string) string { return "" }}, &api.DecisionView{Action: "allow"}, &api.MessageView{State: c.state, Attempts: c.attempts})
		lines := strings.Split(out.String(), "\n")
		if lines[0] != "Taken: this request made a message." || !strings.HasPrefix(lines[1], "Its sending: ") || !strings.Contains(lines[1], c.want) {
			t.Errorf("%s: %q", c.state, lines[:2])
		}
	}
	for _, s := range message.States() {
		if sendingStates[s.String()] == "" {
			t.Errorf("%s has no words", s)
		}
	}
}

// What came from outside steers no terminal, and does not read as something else.
func TestHumanOutputHasNoInvisibleCharacters(t *testing.T) {
	const bad = `\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200f\ufeff\u2028\u2029\u001b\u009b`
	reply := func(w http.ResponseWriter, status int, body string) {
		reply(w, status, strings.ReplaceAll(body, "BAD", bad))
	}
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/keys" && r.Method == http.MethodGet:
			reply(w, 200, `{"data":[{"id":"BAD","name":"BAD","scopes":["BAD"],"created_at":"BAD","revoked_at":"BAD"}]}`)
		case r.URL.Path == "/v1/keys":
			reply(w, 201, `{"id":"BAD","name":"BAD","scopes":["BAD"],"key":"BAD"}`)
		case strings.HasSuffix(r.URL.Path, "/timeline"):
			reply(w, 200, `{"data":[{"at":"BAD","kind":"BAD","summary":"BAD"}]}`)
		case r.Method == http.MethodPost:
			reply(w, 200, `{"decision":{"id":"BAD","action":"BAD","class":"BAD","explanation":"BAD"},"message":{"id":"BAD","state":"BAD"}}`)
		case r.URL.Path == "/v1/messages/msg_2":
			reply(w, 400, `{"code":"BAD","title":"BAD","detail":"BAD","errors":[{"pointer":"BAD","parameter":"BAD","detail":"BAD"}]}`)
		case r.URL.Path == "/v1/decisions":
			reply(w, 200, `{"data":[{"id":"BAD","at":"BAD","action":"suppress","reason":"BAD"}]}`)
		default:
			reply(w, 200, strings.NewReplacer("msg_1", "BAD", "accepted", "BAD", "A-1001", "BAD", "same_intent", "BAD", "2027", "BAD", "2026", "BAD",
				"technical", "BAD", "k3v9", "BAD", "POLICY", "BAD", "SHOP", "BAD", "suppress", "BAD").Replace(suppressed[:len(suppressed)-1])+`,"state":"BAD","decision":"BAD"}`)
		}
	})
	hidden := func(r rune) bool { return r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }
	for _, command := range []string{"key list", "key create --name x --scope read", "timeline msg_1", "send --to x --text x", "explain msg_2", "explain msg_1", "explain dec_1"} {
		_, out, errs := m.run(strings.Fields(command)...)
		if strings.ContainsFunc(out+errs, hidden) || !strings.Contains(out+errs, "�") {
			t.Errorf("%s: %q %q", command, out, errs)
		}
	}
}
