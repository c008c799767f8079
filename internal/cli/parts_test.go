package cli

import (
	"net/http"
	"strings"
	"testing"
)

// A text that is more than one part says so, and a dry run says how much more goes into it.
func TestSendShowsParts(t *testing.T) {
	answer := ""
	m := newMachine(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, answer) })
	for members, want := range map[string]string{
		`"parts":1,"encoding":"gsm7"`:                                 "is known.\nmessage",
		`"parts":3,"encoding":"ucs2"`:                                 "is known.\nparts: 3, as ucs2\nmessage",
		`"parts":2,"encoding":"gsm7","dry_run":true,"units_left":145`: "is known.\nparts: 2, as gsm7, with room for 145 more\nmessage",
		`"parts":1,"encoding":"gsm7","dry_run":true,"units_left":0`:   "is known.\nparts: 1, as gsm7, with room for 0 more\nmessage",
		`"simulated":true`:                                            "is known.\nmessage",
	} {
		answer = strings.Replace(allowed, `"simulated":true`, members, 1)
		if code, out, errs := m.run("send", "--to", "x", "--text", "x"); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: %d %s %s", members, code, out, errs)
		}
	}
}

// covers: D5
func TestTimelineShowsParts(t *testing.T) {
	byPart := `[{"part":1,"attempts":1,"outcome":"accepted","reported_delivery":"delivered","external_id":"7b1c\u202e9f"},` +
		`{"part":2,"attempts":2,"outcome":"throttled","reported_delivery":null,"external_id":null},` +
		`{"part":3,"attempts":0,"outcome":null,"reported_delivery":null,"external_id":null}]`
	parts := byPart
	m := newMachine(t, func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, `{"data":[{"at":"2026-12-31T10:00:00Z","kind":"taken","summary":"It was taken."}],"next":null,"outlook":"It waits.","parts":3,"partial":true,"by_part":`+parts+`}`)
	})
	want := "PART  ATTEMPTS  OUTCOME    DELIVERY   MESSAGE ID\n" +
		"1     1         accepted   delivered  7b1c\uFFFD9f\n" +
		"2     2         throttled  -          -\n" +
		"3     0         waits      -          -\n"
	if code, out, errs := m.run("timeline", "msg_1"); code != 0 || !strings.HasSuffix(out, want) {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	parts = `[{"part":1,"attempts":1,"outcome":"accepted","reported_delivery":null,"external_id":null}]`
	if _, out, _ := m.run("timeline", "msg_1"); strings.Contains(out, "PART") {
		t.Errorf("a message of one part has a table:\n%s", out)
	}
}
