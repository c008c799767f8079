package cli

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/wallet"
)

const (
	walletAcme = `{"balance_micro_usd":50000000,"held_micro_usd":15000,"available_micro_usd":49985000,"spent_micro_usd":7500,"limit_micro_usd":20000000,"limit_left_micro_usd":19977500,"limit_at":null,"created_at":"2026-12-31T10:00:00Z"}`
	lifted     = `{"floor_micro_usd":-100000000,"balance_micro_usd":5,"held_micro_usd":0,"available_micro_usd":5,"spent_micro_usd":0,"limit_micro_usd":null,"limit_left_micro_usd":null,"limit_by":"ann","limit_reason":"known","limit_at":"2026-12-31T11:00:00Z","created_at":"2026-12-31T10:00:00Z"}`
	paidIn     = `{"id":"trf_1","kind":"topup","at":"2026-12-31T10:00:00Z","amount_micro_usd":50000000,"reference":"inv-7","reason":"transfer","message":null,"price_micro_usd":null,"made":true}`
	chargedOne = `{"id":"msg_1","kind":"charge","at":"2026-12-31T10:01:00Z","amount_micro_usd":-7500,"message":"msg_1","price_micro_usd":7500,"cost":{"held_micro_usd":15000,"settled_micro_usd":7500}}`
	priceList  = `{"data":[{"tenant":null,"prefix":"","micro_usd":90000,"from":"2026-01-01T00:00:00Z"},{"tenant":"acme","prefix":"49","micro_usd":75000,"from":"2026-01-01T00:00:00Z"}],"next":null}`
)

// paying is a gateway that answers each question about money.
func paying(asked *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*asked = append(*asked, r.Method+" "+r.URL.String()+" "+string(body))
		switch place := r.URL.Path; {
		case strings.HasSuffix(place, "/entries"):
			reply(w, 200, `{"data":[`+chargedOne+`,`+paidIn+`],"next":null}`)
		case strings.HasSuffix(place, "/topups"):
			reply(w, 201, paidIn)
		case strings.HasSuffix(place, "/limit"):
			reply(w, 200, lifted)
		case strings.HasSuffix(place, "/prices"):
			reply(w, 200, priceList)
		default:
			reply(w, 200, walletAcme)
		}
	}
}

// covers: M4, X5
func TestMoneyInTheTerminal(t *testing.T) {
	prices := filepath.Join(t.TempDir(), "prices.csv")
	if err := os.WriteFile(prices, []byte("prefix,usd,tenant\n49,0.075,acme\n,0.09,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const acme = "/v1/tenants/acme"
	for command, c := range map[string]struct{ asks, says string }{
		"wallet show":                  {"GET /v1/wallet ", "available  49.985 USD\nbalance    50.00 USD\nheld       0.015 USD\nspent      0.0075 USD\nlimit      20.00 USD, of which 19.9775 USD are left\n"},
		"wallet show --tenant acme":    {"GET " + acme + "/wallet ", "available  49.985 USD"},
		"wallet entries --tenant acme": {"GET " + acme + "/wallet/entries?limit=200 ", "charge  -0.0075 USD  0.015 USD  msg_1\n2026-12-31 10:00:00.000  topup   50.00 USD    -          inv-7: transfer"},
		"wallet topup --tenant acme --usd 50 --reference inv-7 --reason transfer": {
			"POST " + acme + `/topups {"amount_micro_usd":50000000,"reason":"transfer","reference":"inv-7"}`, "payment trf_1 of 50.00 USD for acme (inv-7) is stored"},
		"wallet topup --tenant acme --usd=-0.5 --reference inv-8 --reason transfer": {
			"POST " + acme + `/topups {"amount_micro_usd":-500000,"reason":"transfer","reference":"inv-8"}`, "is stored"},
		"wallet limit --tenant acme --lift --by ann --reason known": {"POST " + acme + `/limit {"by":"ann","lift":true,"reason":"known"}`, "limit      none, since 2026-12-31 11:00:00.000 UTC by ann: known"},
		"wallet limit --tenant acme --usd 30 --by ann --reason known": {
			"POST " + acme + `/limit {"by":"ann","limit_micro_usd":30000000,"reason":"known"}`, "limit      none"},
		"wallet limit --tenant acme --floor=-100 --by ann --reason credit": {
			"POST " + acme + `/limit {"by":"ann","floor_micro_usd":-100000000,"reason":"credit"}`, "floor      -100.00 USD"},
		"wallet limit --tenant acme --lift --floor 10 --by ann --reason reserve": {
			"POST " + acme + `/limit {"by":"ann","floor_micro_usd":10000000,"lift":true,"reason":"reserve"}`, "limit      none"},
		"price list":          {"GET /v1/prices ", "TENANT  PREFIX  PART       FROM (UTC)\n-       any     0.09 USD   2026-01-01 00:00:00.000\nacme    49      0.075 USD  2026-01-01 00:00:00.000\n"},
		"price list --csv":    {"GET /v1/prices ", "tenant,prefix,usd,from\n,,0.09,2026-01-01T00:00:00Z\nacme,49,0.075,2026-01-01T00:00:00Z\n"},
		"price set " + prices: {`PUT /v1/prices {"data":[{"micro_usd":75000,"prefix":"49","tenant":"acme"},{"micro_usd":90000,"prefix":""}]}`, "2 prices are in force"},
	} {
		var asked []string
		code, out, errs := newMachine(t, paying(&asked)).run(strings.Fields(command)...)
		if code != 0 || errs != "" || len(asked) != 1 || asked[0] != c.asks || !strings.Contains(out, c.says) {
			t.Errorf("%s: %d %s\nasked %q, want %q\nsaid %s, want %s", command, code, errs, asked, c.asks, out, c.says)
		}
	}
}

// A proof that finds something ends with an error, so that whoever runs it each night hears of it.
//
// covers: I10
func TestWalletVerifyFailsOnDifferences(t *testing.T) {
	answer := `{"at":"2026-12-31T10:00:00Z","wallets":2,"messages":7,"transfers":9,"gone":1,"differences":0,"data":[]}`
	m := newMachine(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, answer) })
	code, out, errs := m.run("wallet", "verify")
	if code != 0 || errs != "" || out != "At 2026-12-31 10:00:00.000 UTC: 2 wallets, 7 messages that cost something, 9 transfers, 0 differences. Of 1 charges the messages are not kept any more; they count in the sums.\n" {
		t.Errorf("%d %s %s", code, out, errs)
	}
	answer = `{"at":"2026-12-31T10:00:00Z","wallets":2,"messages":7,"transfers":9,"gone":0,"differences":1,"data":[{"tenant":"acme","message":"msg_1","detail":"a charge is settled"}]}`
	for _, args := range [][]string{{"wallet", "verify"}, {"wallet", "verify", "--json"}} {
		code, out, errs = m.run(args...)
		if code != exitFailed || !strings.Contains(out, "a charge is settled") || !strings.Contains(errs, "1 differences") {
			t.Errorf("%d %s %s", code, out, errs)
		}
	}
}

func TestWrongMoneyInTheTerminal(t *testing.T) {
	for command, says := range map[string]string{
		"wallet topup --tenant a --usd 1,5 --reference x --reason y": "write US dollars",
		"wallet topup --tenant a --usd 1 --reference x":              "--reason",
		"wallet limit --tenant a --by ann --reason y":                "--lift",
		"wallet limit --tenant a --lift --usd 3 --by ann --reason y": "--lift and --usd",
		"price set /does/not/exist":                                  "cannot be read",
		"price set " + priceFile(t, "prefix,usd\n49,abc\n"):          `line 2: "abc" is no amount`,
		"price set " + priceFile(t, "prefix,cents\n49,7\n"):          `the column "cents" is none of`,
		"price set " + priceFile(t, "prefix\n49\n"):                  "the column usd is missing",
		"price set " + priceFile(t, "prefix,usd\n49\n"):              "wrong number of fields",
		"price set " + priceFile(t, ""):                              "no head",
	} {
		code, _, errs := newMachine(t, nil).run(strings.Fields(command)...)
		if code != exitUsage || !strings.Contains(errs, says) {
			t.Errorf("%s: %d %s, want %s", command, code, errs, says)
		}
	}
}

// priceFile writes a file of a test.
func priceFile(t *testing.T, content string) string {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "prices")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// The price list of the page about wallets is read as printed.
func TestPriceListExample(t *testing.T) {
	page, err := os.ReadFile("../../docs/wallet.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "<!-- prices -->\n```csv\n")
	list, _, _ := strings.Cut(after, "```")
	rows, err := readPrices(strings.NewReader(list))
	if err != nil || len(rows) != 3 || rows[2]["tenant"] != "acme" || rows[1]["from"] != "2026-01-01T00:00:00Z" || rows[0]["micro_usd"] != wallet.MicroUSD(75_000) {
		t.Errorf("%v %v", err, rows)
	}
}
