package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

const (
	openPair = `{"id":"exc_1","at":"2026-12-31T10:00:00Z","kind":"lost_answer","state":"open","open":true,"connection":"carrier_a","message":"msg_1","attempt":1,"part":1,` +
		`"receipt":"rcp_1","detail":"a receipt without a match says DELIVRD","candidates":[{"message":"msg_1","attempt":1,"part":1}],` +
		`"actions":["attach","dismiss","reread"],"resolution":null,"group_count":2}`
	openForeign = `{"id":"exc_2","at":"2026-12-31T10:00:00Z","kind":"unmatched","state":"open","open":true,"connection":"carrier_a","message":null,` +
		`"receipt":"rcp_1","detail":"no attempt has the message id of this receipt\u001b[31m","actions":["attach","dismiss","reread"],"resolution":null,"group_count":1}`
	attached = `{"id":"exc_1","at":"2026-12-31T10:00:00Z","kind":"lost_answer","state":"attached","open":false,"connection":"carrier_a","message":"msg_1","receipt":"rcp_1",` +
		`"detail":"d","actions":[],"resolution":{"at":"2026-12-31T11:00:00Z","by":"ann (key ops)","reason":"r","to":{"message":"msg_1","attempt":1,"part":1}},"group_count":1}`
	dismissed = `{"id":"exc_2","at":"2026-12-31T10:00:00Z","kind":"unmatched","state":"dismissed","open":false,"connection":"carrier_a","message":null,"receipt":"rcp_1",` +
		`"detail":"d","actions":[],"resolution":{"at":"2026-12-31T11:00:00Z","by":null,"reason":"r","to":null},"group_count":1}`
	aReceipt = `{"id":"rcp_1","seq":1,"received_at":"2026-12-31T09:00:00Z","kind":"receipt","connection":"carrier_a","external_id":"A1","status":"DELIVRD","error_code":"000",` +
		`"source":"•••0104","done_date":"2612310900","parser":"smpp-receipt/1"}`
	aMessage = `{"id":"msg_1","state":"unknown","to":"+1202•••0104","attempts":[{"attempt":1,"part":1,"outcome":"unknown","opened_at":"2026-12-31T08:59:00Z"}]}`
)

// exceptionServer is a gateway with two open exceptions, and one group of 230.
func exceptionServer(t *testing.T, asked *[]string) http.HandlerFunc {
	left := 230
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*asked = append(*asked, strings.TrimSpace(r.Method+" "+r.URL.String()+" "+string(body)))
		switch path := r.URL.Path; {
		case path == "/v1/exceptions" && r.URL.Query().Get("kind") == "missing":
			reply(w, 200, `{"data":[],"next":null}`)
		case path == "/v1/exceptions" && r.URL.Query().Has("all_tenants"):
			reply(w, 200, `{"data":[`+strings.Replace(openPair, "{", `{"tenant":"acme",`, 1)+`],"next":null}`)
		case path == "/v1/exceptions":
			reply(w, 200, `{"data":[`+openPair+`,`+openForeign+`],"next":"p2"}`)
		case path == "/v1/exception-groups":
			reply(w, 200, `{"data":[{"hour":"2026-12-31T10:00:00Z","connection":"carrier_a","kind":"unmatched","count":1200,"open":230}],"next":null}`)
		case path == "/v1/exception-groups/resolve":
			done := min(left, 100)
			left -= done
			_ = json.NewEncoder(w).Encode(map[string]any{"resolved": done, "left": left, "failed": []string{}})
		case path == "/v1/exceptions/exc_1/resolve" && strings.Contains(string(body), `"reread"`):
			reply(w, 200, openPair)
		case path == "/v1/exceptions/exc_1/resolve":
			reply(w, 200, attached)
		case path == "/v1/exceptions/exc_2/resolve":
			reply(w, 200, dismissed)
		case path == "/v1/exceptions/exc_1":
			reply(w, 200, openPair)
		case path == "/v1/exceptions/exc_2":
			reply(w, 200, openForeign)
		case path == "/v1/exceptions/exc_3":
			reply(w, 200, dismissed)
		case path == "/v1/receipts/rcp_1":
			reply(w, 200, aReceipt)
		case path == "/v1/messages/msg_1":
			reply(w, 200, aMessage)
		default:
			reply(w, 404, `{"code":"not_found","title":"There is no such thing"}`)
		}
	}
}

// covers: R6
func TestExceptionsCommands(t *testing.T) {
	for args, c := range map[string]struct {
		code  int
		asks  string // the last request
		says  []string
		never string
	}{
		"":                              {0, "GET /v1/exceptions?limit=50&state=open", []string{"exc_1", "msg_1", "rcp_1", "lost_answer", "next: einmal exceptions show exc_1", "and more"}, "\x1b[31m"},
		"list --all --kind unmatched":   {0, "GET /v1/exceptions?kind=unmatched&limit=50", []string{"exc_2"}, ""},
		"list --kind missing":           {0, "GET /v1/exceptions?kind=missing&limit=50&state=open", []string{"Nothing waits for a person."}, ""},
		"--all-tenants":                 {0, "GET /v1/exceptions?all_tenants=true&limit=50&state=open", []string{"TENANT", "acme"}, "next:"},
		"list --json":                   {0, "GET /v1/exceptions?limit=50&state=open", []string{`"next":"p2"`}, ""},
		"groups":                        {0, "GET /v1/exception-groups?limit=50&open=true", []string{"1200", "230", "resolve-group carrier_a unmatched 2026-12-31T10:00:00Z --dismiss"}, ""},
		"show exc_1":                    {0, "GET /v1/messages/msg_1", []string{"status DELIVRD", "message id A1", "May be", "attempt 1, part 1: unknown", "next: einmal exceptions resolve exc_1 --attach --by NAME", "2 of this connection"}, ""},
		"show exc_2":                    {0, "GET /v1/receipts/rcp_1", []string{"--attach --message MSG --by NAME", "--dismiss --by NAME", "--reread"}, "\x1b[31m"},
		"show exc_3":                    {0, "GET /v1/receipts/rcp_1", []string{"by the gateway itself, by later evidence: r"}, "next:"},
		"show exc_9":                    {exitNotFound, "GET /v1/exceptions/exc_9", nil, ""},
		"resolve exc_1 --attach":        {0, `POST /v1/exceptions/exc_1/resolve {"action":"attach","by":"ann","reason":"r"}`, []string{"stands for attempt 1, part 1 of msg_1", "einmal timeline msg_1"}, ""},
		"resolve exc_2 --dismiss":       {0, `POST /v1/exceptions/exc_2/resolve {"action":"dismiss","by":"ann","reason":"r"}`, []string{"nothing follows from the evidence"}, ""},
		"resolve exc_1 --reread":        {0, `POST /v1/exceptions/exc_1/resolve {"action":"reread","by":"ann","reason":"r"}`, []string{"Still open"}, ""},
		"resolve exc_1 --attach --json": {0, `POST /v1/exceptions/exc_1/resolve {"action":"attach","by":"ann","reason":"r"}`, []string{`"state":"attached"`}, ""},
		"resolve exc_1 --attach --message msg_1 --attempt 2 --part 3 --state delivered": {0,
			`POST /v1/exceptions/exc_1/resolve {"action":"attach","attempt":2,"by":"ann","message":"msg_1","part":3,"reason":"r","state":"delivered"}`, nil, ""},
		"resolve exc_1":                    {exitUsage, "", nil, ""},
		"resolve exc_1 --attach --dismiss": {exitUsage, "", nil, ""},
	} {
		var asked []string
		m := newMachine(t, exceptionServer(t, &asked))
		words := append([]string{"exceptions"}, strings.Fields(args)...)
		if strings.HasPrefix(args, "resolve") {
			words = append(words, "--by", "ann", "--reason", "r")
		}
		code, out, errs := m.run(words...)
		if code != c.code {
			t.Errorf("%s: %d %s%s", args, code, out, errs)
		}
		if last := strings.Join(asked, "\n"); !strings.HasSuffix(last, c.asks) {
			t.Errorf("%s asked %q", args, asked)
		}
		for _, want := range c.says {
			if !strings.Contains(out, want) {
				t.Errorf("%s does not say %q: %s", args, want, out)
			}
		}
		if c.never != "" && strings.Contains(out, c.never) {
			t.Errorf("%s says %q: %s", args, c.never, out)
		}
	}
}

// A group is resolved a hundred at a time, until nothing is left.
//
// covers: R6
func TestAGroupIsResolvedWhole(t *testing.T) {
	var asked []string
	m := newMachine(t, exceptionServer(t, &asked))
	code, out, errs := m.run("exceptions", "resolve-group", "carrier_a", "unmatched", "2026-12-31T10:00:00Z", "--dismiss", "--by", "ann", "--reason", "foreign receipts")
	want := `POST /v1/exception-groups/resolve {"action":"dismiss","by":"ann","connection":"carrier_a","hour":"2026-12-31T10:00:00Z","kind":"unmatched","reason":"foreign receipts"}`
	if code != 0 || out != "230 resolved, 0 open\n" || len(asked) != 3 || asked[2] != want {
		t.Errorf("%d %s%s after %q", code, out, errs, asked)
	}
}
