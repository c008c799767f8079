package cli

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// logServer is a gateway whose log is read again in three pieces of two, of which the last receipt is gone.
func logServer(t *testing.T, asked *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*asked = append(*asked, r.Method+" "+r.URL.String()+" "+string(body))
		piece := func(n int, next string) {
			reply(w, 200, fmt.Sprintf(`{"looked_at":2,"changed":1,"gone":0,"effects":{"rebuilt":1,"nothing":1},"next":%s,
				"changes":[{"receipt":"rcp_%d","effect":"rebuilt","message":"msg_%d","from":"accepted","state":"undelivered"}]}`, next, n, n))
		}
		switch text := string(body); {
		case strings.Contains(text, "carrier_b"):
			reply(w, 403, `{"code":"scope","title":"The key lacks a scope"}`)
		case strings.Contains(text, "p3"):
			reply(w, 200, `{"looked_at":2,"changed":0,"gone":1,"effects":{"nothing":1},"changes":[{"receipt":"rcp_3","effect":"nothing","message":null,"problem":"something holds it"}],"next":null}`)
		case strings.Contains(text, "p2"):
			piece(2, `"p3"`)
		default:
			piece(1, `"p2"`)
		}
	}
}

// covers: R9
func TestReceiptsReplay(t *testing.T) {
	const who = `"reason":"FAILED is documented now"`
	for args, c := range map[string]struct {
		code int
		asks []string
		says []string
	}{
		"--connection carrier_a": {0, []string{
			`POST /v1/receipts/replay {"by":"ann","connection":"carrier_a",` + who + `}`,
			`POST /v1/receipts/replay {"after":"p2","by":"ann","connection":"carrier_a",` + who + `}`,
			`POST /v1/receipts/replay {"after":"p3","by":"ann","connection":"carrier_a",` + who + `}`,
		}, []string{"6 receipts were read again, 2 of them otherwise than before\n", "1 cannot be read any more", "effects: nothing 3, rebuilt 2",
			"msg_2", "accepted → undelivered", "something holds it"}},
		"--connection carrier_a --since 2026-12-31T10:00:00Z --dry-run": {0, []string{
			`POST /v1/receipts/replay {"by":"ann","connection":"carrier_a","dry_run":true,` + who + `,"since":"2026-12-31T10:00:00Z"}`, "", "",
		}, []string{"a dry run: nothing has changed"}},
		"--connection carrier_a --json": {0, []string{"", "", ""}, []string{`"looked_at":6,"changed":2,"gone":1,"effects":{"nothing":3,"rebuilt":2}`, `"next":null`}},
		"":                              {0, []string{`POST /v1/receipts/replay {"by":"ann",` + who + `}`, "", ""}, nil},
		"--connection carrier_b":        {exitRefused, []string{""}, nil},
	} {
		var asked []string
		m := newMachine(t, logServer(t, &asked))
		code, out, errs := m.run(append([]string{"receipts", "replay", "--by", "ann", "--reason", "FAILED is documented now"}, strings.Fields(args)...)...)
		if code != c.code || len(asked) != len(c.asks) {
			t.Errorf("%s: %d %s%s after %q", args, code, out, errs, asked)
			continue
		}
		for i, want := range c.asks {
			if want != "" && asked[i] != want {
				t.Errorf("%s asked %s, want %s", args, asked[i], want)
			}
		}
		for _, want := range c.says {
			if !strings.Contains(out, want) {
				t.Errorf("%s does not say %q: %s", args, want, out)
			}
		}
	}
	m := newMachine(t, logServer(t, new([]string)))
	if code, _, errs := m.run("receipts", "replay", "--connection", "carrier_a"); code != exitUsage || !strings.Contains(errs, "--by") {
		t.Errorf("without a person: %d %s", code, errs)
	}
}
