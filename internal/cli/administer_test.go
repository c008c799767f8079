package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// What a gateway answers about one thing of each kind.
const (
	tenantAcme = `{"name":"acme","label":"Acme","state":"suspended","prepaid":true,"created_at":"2026-12-31T10:00:00Z","created_by":"ann, key k","state_since":"2026-12-31T11:00:00Z","state_by":"bob","state_reason":"unpaid"}`
	userAnn    = `{"id":"usr_1","login":"ann","name":"Ann","phone":"+1202•••0143","role":["send","read"],"state":"active","created_at":"2026-12-31T10:00:00Z"}`
	guestTom   = `{"id":"gst_1","name":"Tom","phone":"+1202•••0144","created_at":"2026-12-31T10:00:00Z","made":false}`
	senderShop = `{"sender":"SHOP","kind":"alphanumeric","default":true,"created_at":"2026-12-31T10:00:00Z","made":true}`
	leaseOne   = `{"id":"lse_1","number":"+12025550100","from":"2026-12-31T10:00:00Z","until":null}`
	keyNew     = `{"id":"abc","name":"shop","kind":"test","scopes":["send"],"created_at":"2026-12-31T10:00:00Z","expires_at":null,"revoked_at":null,"key":"em_new"}`
	keyOld     = `{"id":"old","name":"shop","kind":"test","scopes":["send"],"created_at":"2026-12-31T09:00:00Z","expires_at":"2027-01-01T10:00:00Z","revoked_at":null}`
)

// administered is a gateway that answers each place with its one thing.
func administered(asked *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*asked = append(*asked, r.Method+" "+r.URL.String()+" "+string(body))
		place := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/v1"), "/tenants/acme")
		answer := tenantAcme
		for start, one := range map[string]string{"/users": userAnn, "/guests": guestTom, "/senders": senderShop, "/numbers": leaseOne, "/keys": keyNew} {
			if strings.HasPrefix(place, start) {
				answer = one
			}
		}
		switch {
		case strings.HasSuffix(place, "/rotate"):
			answer = `{"new":` + keyNew + `,"old":` + keyOld + `}`
		case r.Method == "GET" && place != "":
			answer = `{"data":[` + answer + `],"next":null}`
		}
		reply(w, 200, answer)
	}
}

// covers: X5
func TestAdministering(t *testing.T) {
	const (
		tenants, acme = "/v1/tenants", "/v1/tenants/acme"
		all           = "?limit=200 "
	)
	for command, c := range map[string]struct{ asks, says string }{
		"tenant list":                                  {"GET " + tenants + all, "acme  suspended  yes      2026-12-31 10:00:00.000  Acme"},
		"tenant add acme --label Acme":                 {"POST " + tenants + ` {"label":"Acme","name":"acme","prepaid":true}`, "next: einmal key create --tenant acme"},
		"tenant add acme --postpaid":                   {"POST " + tenants + ` {"name":"acme","prepaid":false}`, "tenant acme is made"},
		"tenant show acme":                             {"GET " + acme + " ", "suspended since 2026-12-31 11:00:00.000 UTC by bob: unpaid"},
		"tenant label acme Acme":                       {"PATCH " + acme + ` {"label":"Acme"}`, "label          Acme"},
		"tenant suspend acme --by bob --reason unpaid": {"PATCH " + acme + ` {"by":"bob","reason":"unpaid","state":"suspended"}`, "by bob: unpaid"},
		"tenant resume acme --by bob --reason paid":    {"PATCH " + acme + ` {"by":"bob","reason":"paid","state":"active"}`, "name           acme"},

		"key list --tenant acme": {"GET " + acme + "/keys ", "abc  test  send"},
		"key create --tenant acme --name shop --scope send --kind test --user usr_1 --expires 2027-01-01T00:00:00Z": {
			"POST " + acme + `/keys {"expires_at":"2027-01-01T00:00:00Z","kind":"test","name":"shop","scopes":["send"],"user":"usr_1"}`, "em_new\ntest key abc for shop may: send."},
		"key rotate old": {`POST /v1/keys/old/rotate {"old_ends_in":"24h"}`, "The old key old works until 2027-01-01 10:00:00.000 UTC"},
		"key rotate old --tenant acme --old-ends-in 0s": {"POST " + acme + `/keys/old/rotate {"old_ends_in":"0s"}`, "em_new"},
		"key revoke old --tenant acme":                  {"DELETE " + acme + "/keys/old ", "is revoked"},

		"user list": {"GET /v1/users" + all, "usr_1  ann    active  send,read  +1202•••0143  Ann"},
		"user add ann --name Ann --role send,read --phone +12025550143": {`POST /v1/users {"login":"ann","name":"Ann","phone":"+12025550143","role":["send","read"]}`, "next: einmal key create --user usr_1"},
		"user change usr_1 --no-phone --role read":                      {`PATCH /v1/users/usr_1 {"phone":null,"role":["read"]}`, "user usr_1, ann (Ann) is active and may: send, read"},
		"user change usr_1 --name Ann":                                  {`PATCH /v1/users/usr_1 {"name":"Ann"}`, "user usr_1"},
		"user suspend usr_1 --tenant acme":                              {"PATCH " + acme + `/users/usr_1 {"state":"suspended"}`, "user usr_1"},
		"user resume usr_1":                                             {`PATCH /v1/users/usr_1 {"state":"active"}`, "user usr_1"},

		"guest list --tenant acme":               {"GET " + acme + "/guests" + all, "gst_1  +1202•••0144"},
		"guest add +12025550144 --name Tom":      {`POST /v1/guests {"name":"Tom","phone":"+12025550144"}`, "(Tom) was there already"},
		"guest remove gst_1":                     {"DELETE /v1/guests/gst_1 ", "guest gst_1 (Tom) is removed"},
		"sender list":                            {"GET /v1/senders ", "SHOP    alphanumeric  yes"},
		"sender add SHOP --tenant acme":          {"POST " + acme + `/senders {"sender":"SHOP"}`, "sender SHOP of acme is registered, and is the default"},
		"sender add A/B --tenant acme --default": {"POST " + acme + `/senders {"default":true,"sender":"A/B"}`, "is the default"},
		"sender remove A/B --tenant acme":        {"DELETE " + acme + "/senders/A%2FB ", "is taken away"},

		"number list": {"GET /v1/numbers" + all, "lse_1  +12025550100  2026-12-31 10:00:00.000  -"},
		"number lease +12025550100 --tenant acme":                  {"POST " + acme + `/numbers {"number":"+12025550100"}`, "+12025550100 is leased from 2026-12-31 10:00:00.000 UTC, without an end: lse_1"},
		"number end lse_1 --tenant acme":                           {"PATCH " + acme + `/numbers/lse_1 {"until":"1970-01-01T00:00:01Z"}`, "is leased"},
		"number end lse_1 --tenant acme --never":                   {"PATCH " + acme + `/numbers/lse_1 {"until":null}`, "is leased"},
		"number end lse_1 --tenant acme --at 2027-01-01T00:00:00Z": {"PATCH " + acme + `/numbers/lse_1 {"until":"2027-01-01T00:00:00Z"}`, "is leased"},
	} {
		var asked []string
		m := newMachine(t, administered(&asked))
		code, out, errs := m.run(strings.Fields(command)...)
		if code != exitDone || !strings.Contains(out+errs, c.says) || len(asked) != 1 || asked[0] != c.asks {
			t.Errorf("%s: %d\n%s%s\nasked %q", command, code, out, errs, asked)
		}
		asked = nil
		code, out, errs = m.run(append(strings.Fields(command), "--json")...)
		if code != exitDone || errs != "" || !strings.HasPrefix(out, "{") || len(asked) != 1 || asked[0] != c.asks {
			t.Errorf("%s --json: %d\n%s%s\nasked %q", command, code, out, errs, asked)
		}
	}
}

// What is wrong is said before anything is asked of the gateway, or in its words.
func TestAdministeringWrongly(t *testing.T) {
	for command, says := range map[string]string{
		"sender add SHOP": "--tenant", "number lease +12025550100": "--tenant", "tenant suspend acme": "--by", "user add ann": "--name",
		"user change usr_1 --phone 1 --no-phone": "phone", "number end lse_1 --tenant acme --at x --never": "at",
	} {
		m := newMachine(t, nil)
		if code, out, errs := m.run(strings.Fields(command)...); code != exitUsage || out != "" || !strings.Contains(errs, says) {
			t.Errorf("%s: %d %s%s", command, code, out, errs)
		}
	}
	m := newMachine(t, func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 403, `{"code":"suspended","title":"The tenant is suspended","detail":"ask the operator","status":403}`)
	})
	if code, _, errs := m.run("key", "rotate", "old"); code != exitRefused || !strings.Contains(errs, "The tenant is suspended: ask the operator") {
		t.Errorf("%d %s", code, errs)
	}
}
