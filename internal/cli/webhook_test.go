package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

const (
	hookView     = `"id":"whk_1","url":"https://example.com/hooks","types":["message.*"],"enabled":true,"former_secret_until":null,"created_at":"2026-12-31T10:00:00Z","created_by":"k","changed_at":"2026-12-31T10:00:00Z","changed_by":"k"`
	hookOff      = `"id":"whk_2","url":"https://example.com/\u001b[31m","types":["*"],"enabled":false,"former_secret_until":"2027-01-01T10:00:00Z","created_at":"2026-12-31T10:00:00Z"`
	deliveryDead = `"id":"dlv_1_7","webhook":"whk_1","event":"evt_1_7","type":"message.delivered","sequence":7,"message":"msg_1","state":"dead","claims":11,"failures":11,"next_at":null,"ended_at":"2026-12-31T10:00:00Z","status":0,"problem":"timeout"`
)

func hookServer(t *testing.T, asked *[]string) http.HandlerFunc {
	answers := map[string]string{
		"GET /v1/webhooks":                  `{"data":[{` + hookView + `},{` + hookOff + `}],"next":null}`,
		"POST /v1/webhooks":                 `{` + hookView + `,"secret":"whsec_x"}`,
		"PATCH /v1/webhooks/whk_1":          `{` + hookView + `}`,
		"PATCH /v1/webhooks/whk_2":          `{` + hookOff + `}`,
		"POST /v1/webhooks/whk_1/rotate":    `{` + hookOff + `,"secret":"whsec_y"}`,
		"POST /v1/webhooks/whk_1/test":      `{"id":"test_1","delivered":true,"status":204,"took_ms":12}`,
		"POST /v1/webhooks/whk_2/test":      `{"id":"test_1","delivered":false,"status":0,"problem":"tls","took_ms":12}`,
		"POST /v1/webhooks/whk_3/test":      `{"id":"test_1","delivered":false,"status":302,"took_ms":12}`,
		"DELETE /v1/webhooks/whk_1":         `{"id":"whk_1","removed":true}`,
		"GET /v1/webhooks/whk_1/deliveries": `{"data":[{` + deliveryDead + `}],"next":null}`,
		"GET /v1/webhooks/whk_2/deliveries": `{"data":[],"next":null}`,
		"POST /v1/webhooks/whk_1/replay":    `{"replayed":1000,"more":true}`,
		"POST /v1/deliveries/dlv_1_7/replay": `{` + strings.Replace(deliveryDead, `"dead"`, `"pending"`, 1) +
			`,"body":{"id":"evt_1_7"}}`,
	}
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*asked = append(*asked, strings.TrimSpace(r.Method+" "+r.URL.String()+" "+string(body)))
		answer, ok := answers[r.Method+" "+r.URL.Path]
		if !ok {
			reply(w, 404, `{"code":"not_found","title":"There is no such thing"}`)
			return
		}
		reply(w, 200, answer)
	}
}

// covers: X5, M6
func TestWebhookCommands(t *testing.T) {
	for args, c := range map[string]struct {
		code       int
		asks       string
		says, errs string
	}{
		"list":                                  {0, "GET /v1/webhooks", "message.*", ""},
		"add https://example.com/hooks":         {0, `POST /v1/webhooks {"url":"https://example.com/hooks"}`, "whsec_x\n", "einmal webhook test whk_1"},
		"add https://e.com --type message.*,a":  {0, `POST /v1/webhooks {"types":["message.*","a"],"url":"https://e.com"}`, "whsec_x\n", "never again"},
		"change whk_1 --address https://e.com":  {0, `PATCH /v1/webhooks/whk_1 {"url":"https://e.com"}`, "is told of message.*", ""},
		"change whk_2 --off --type *":           {0, `PATCH /v1/webhooks/whk_2 {"enabled":false,"types":["*"]}`, "is switched off", ""},
		"change whk_1 --on":                     {0, `PATCH /v1/webhooks/whk_1 {"enabled":true}`, "whk_1", ""},
		"change whk_1":                          {2, "", "", "say what to change"},
		"rotate whk_1":                          {0, `POST /v1/webhooks/whk_1/rotate {"former_for":"24h"}`, "whsec_y\n", "2027-01-01 10:00:00.000 UTC"},
		"test whk_1":                            {0, "POST /v1/webhooks/whk_1/test", "status 204 after 12 ms", ""},
		"test whk_2":                            {1, "POST /v1/webhooks/whk_2/test", "", "tls after 12 ms"},
		"test whk_3":                            {1, "POST /v1/webhooks/whk_3/test", "", "status 302"},
		"remove whk_1":                          {0, "DELETE /v1/webhooks/whk_1", "told nothing more", ""},
		"remove whk_9":                          {3, "DELETE /v1/webhooks/whk_9", "", "no such thing"},
		"deliveries whk_1 --state dead":         {0, "GET /v1/webhooks/whk_1/deliveries?limit=50&state=dead", "timeout", ""},
		"deliveries whk_2":                      {0, "GET /v1/webhooks/whk_2/deliveries?limit=50", "There are no such deliveries.", ""},
		"deliveries whk_1 --json":               {0, "GET /v1/webhooks/whk_1/deliveries?limit=50", `"dlv_1_7"`, ""},
		"replay whk_1":                          {0, "POST /v1/webhooks/whk_1/replay", "1000 are told again.\nThere are more", ""},
		"replay dlv_1_7":                        {0, "POST /v1/deliveries/dlv_1_7/replay", "message.delivered is told again, as evt_1_7.", ""},
		"add https://example.com/hooks --json":  {0, `POST /v1/webhooks {"url":"https://example.com/hooks"}`, `"secret":"whsec_x"`, ""},
		"rotate whk_1 --former-for 0s --json":   {0, `POST /v1/webhooks/whk_1/rotate {"former_for":"0s"}`, `"secret":"whsec_y"`, ""},
		"deliveries whk_1 --limit 7 --state x":  {0, "GET /v1/webhooks/whk_1/deliveries?limit=7&state=x", "dead", ""},
		"change whk_1 --type attempt.* --json":  {0, `PATCH /v1/webhooks/whk_1 {"types":["attempt.*"]}`, `"whk_1"`, ""},
		"deliveries whk_7":                      {3, "GET /v1/webhooks/whk_7/deliveries?limit=50", "", "no such thing"},
		"replay whk_7":                          {3, "POST /v1/webhooks/whk_7/replay", "", "no such thing"},
		"list --json":                           {0, "GET /v1/webhooks", `"whk_2"`, ""},
		"test whk_2 --json":                     {0, "POST /v1/webhooks/whk_2/test", `"delivered":false`, ""},
		"add https://example.com/hooks --other": {2, "", "", "--other"},
	} {
		var asked []string
		m := newMachine(t, hookServer(t, &asked))
		code, out, errs := m.run(append([]string{"webhook"}, strings.Fields(args)...)...)
		if code != c.code || strings.Join(asked, "\n") != c.asks || !strings.Contains(out, c.says) || !strings.Contains(errs, c.errs) || strings.Contains(out+errs, "\x1b[31m") && !strings.Contains(args, "json") {
			t.Errorf("webhook %s: %d\n%s%s asked %q", args, code, out, errs, asked)
		}
	}
}
