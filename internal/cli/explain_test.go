package cli

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file of testdata, which is read by people: go test -update writes it anew.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what was written down; got:\n%s", path, got)
	}
}

const (
	suppressed = `{"id":"dec_2","at":"2026-12-31T10:00:42Z","action":"suppress","class":"technical_duplicate","reason":"same_intent_accepted",
		"rule":"order_confirmation.window","policy_version":"POLICY","explanation":"Message msg_1 for the same event was accepted by the provider 42 s ago.",
		"window_ends":"2027-01-30T10:00:00Z","same_text":true,"previous_state":"accepted","state_source":{"n":2,"kind":"late","attempt":1,"receipt":"rcp_7"},"compared_with":"msg_1","mode":"enforce","message":{"id":"msg_1","state":"accepted","attempts":1},
		"purpose":"order_confirmation","to":"+1202•••0143","sender":"SHOP","event":{"type":"order","id":"A-1001","version":"1"},"caller":"k3v9",
		"otherwise":"With another event id it would have been a new message."}`
	made = `{"id":"dec_1","at":"2026-12-31T10:00:00Z","action":"allow","class":"new_intent","reason":"no_equivalent","rule":"order_confirmation.window",
		"policy_version":"builtin@1","explanation":"Nothing like it is known.","window_ends":null,"message":{"id":"msg_1"},"purpose":"order_confirmation","to":"+1202•••0143",
		"caller":"k3v9","otherwise":"A request with another event id is another message."}`
)

const letThrough = `{"id":"dec_3","at":"2026-12-31T10:00:42Z","action":"allow","would":"suppress","mode":"monitor","class":"technical_duplicate",
	"reason":"same_intent_accepted","rule":"order_confirmation.window","policy_version":"shop@8","explanation":"The policy shop@8 only monitors.",
	"same_text":true,"previous_state":"accepted","state_source":{"n":2,"kind":"outcome","attempt":1},"compared_with":"msg_9","matched_key":"00","mapped_by":"legacy","message":{"id":"msg_1"},"purpose":"order_confirmation","to":"+1202•••0143",
	"caller":"k3v9","otherwise":"A request with another event id is another message."}`

// covers: X3
func TestExplainSaysWhatWasOnlyMonitored(t *testing.T) {
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/decisions/dec_3" {
			reply(w, 200, letThrough)
		} else {
			reply(w, 200, `{"id":"msg_1","state":"delivered","since":"2026-12-31T10:01:00Z","decision":"dec_3","outlook":"The provider reports it delivered."}`)
		}
	})
	code, out, errs := m.run("explain", "dec_3")
	if code != 0 || errs != "" {
		t.Errorf("%d %s", code, errs)
	}
	golden(t, "explain_monitored.golden", out)
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
			reply(w, 200, `{"id":"msg_1","state":"delivered","since":"2026-12-31T10:01:00Z","decision":"dec_1","outlook":"The provider reports it delivered."}`)
		default:
			reply(w, 404, `{"code":"not_found","title":"There is no such thing"}`)
		}
	})
}

// covers: D14
func TestExplainSaysWhyARequestWasSuppressed(t *testing.T) {
	code, out, errs := explaining(t, "builtin@1").run("explain", "dec_2")
	if code != 0 || errs != "" {
		t.Errorf("%d %s", code, errs)
	}
	golden(t, "explain_suppressed.golden", out)
}

func TestExplainOfAMessageListsItsRepeats(t *testing.T) {
	code, out, _ := explaining(t, "builtin@1").run("explain", "msg_1")
	if code != 0 {
		t.Error(code)
	}
	golden(t, "explain_message.golden", out)
	if code, _, _ := explaining(t, "x").run("explain", "msg_2"); code != exitNotFound {
		t.Error(code)
	}
	if _, out, _ := explaining(t, "x").run("explain", "dec_1", "--json"); out != made {
		t.Error(out)
	}
}

// The lines of all pages come with their times since the first, and then how things stand. On a terminal they are
// broken and go on under their beginning.
func TestTimelineReadsAllPages(t *testing.T) {
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("after") == "" {
			reply(w, 200, `{"data":[{"at":"2026-12-31T10:00:00.5Z","kind":"taken","summary":"The gateway took the message."},
				{"at":"2026-12-31T10:00:02.5Z","after_ms":2000,"kind":"outcome","summary":"No answer came to attempt 1. Whether the provider has it is not known, and so it is not sent again."}],"next":"p2","outlook":"early"}`)
			return
		}
		reply(w, 200, `{"data":[{"at":"later","after_ms":65000,"kind":"conflict","summary":"Evidence\u001b]0;x\u0007 contradicts."}],"next":null,"outlook":"Since then it is not known."}`)
	})
	_, out, _ := m.run("timeline", "msg_1")
	m.terminal = true
	_, wrapped, _ := m.run("timeline", "msg_1")
	golden(t, "timeline.golden", out+"\n"+wrapped)
	if _, out, _ := m.run("timeline", "msg_1", "--json"); strings.Count(out, `"kind"`) != 3 || !strings.Contains(out, `"outlook":"Since then`) {
		t.Error(out)
	}
}

func TestSpans(t *testing.T) {
	for ms, want := range map[int64]string{0: "0.000 s", 59_999: "59.999 s", 60_000: "1 min 0 s", 3_599_999: "59 min 59 s", 3_600_000: "1 h 0 min", 172_800_000: "2 d 0 h"} {
		if got := span(ms); got != want {
			t.Errorf("%d: %s, want %s", ms, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	got := strings.Join(wrap("\x1b[33mone two\x1b[0m three averyverylongword x", 9), "|")
	if want := "\x1b[33mone two\x1b[0m|three|averyverylongword|x"; got != want {
		t.Errorf("%q, want %q", got, want)
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
			reply(w, 200, `{"data":[{"at":"BAD","kind":"BAD","summary":"BAD"}],"outlook":"BAD"}`)
		case r.Method == http.MethodPost:
			reply(w, 200, `{"decision":{"id":"BAD","action":"BAD","class":"BAD","explanation":"BAD"},"message":{"id":"BAD","state":"BAD"}}`)
		case r.URL.Path == "/v1/messages/msg_2":
			reply(w, 400, `{"code":"BAD","title":"BAD","detail":"BAD","errors":[{"pointer":"BAD","parameter":"BAD","detail":"BAD"}]}`)
		case r.URL.Path == "/v1/decisions":
			reply(w, 200, `{"data":[{"id":"BAD","at":"BAD","action":"suppress","reason":"BAD"}]}`)
		default:
			reply(w, 200, strings.NewReplacer("msg_1", "BAD", "accepted", "BAD", "A-1001", "BAD", "same_intent", "BAD", "2027", "BAD", "2026", "BAD",
				"technical", "BAD", "k3v9", "BAD", "POLICY", "BAD", "SHOP", "BAD", "suppress", "BAD").Replace(suppressed[:len(suppressed)-1])+`,"state":"BAD","since":"BAD","outlook":"BAD","decision":"BAD"}`)
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
