package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/fault"
)

// walkMoney asks for money: a tenant sees its own wallet, and those who run the installation, who have none, see prices
// and prove that all wallets fit.
func (h *house) walkMoney(r Route, who, foreign *household) {
	h.t.Helper()
	own := strings.HasPrefix(r.Path, "/v1/wallet") && r.Path != "/v1/wallets/verify"
	want := map[bool]int{true: 200, false: 404}[own == (who.name != "installation")]
	rec := h.call(r.Method, r.Path, who.key, writes(r, who))
	h.hides(rec, r.Path, foreign)
	if rec.Code != want || strings.HasSuffix(r.Path, "entries") && want == 200 && !strings.Contains(rec.Body.String(), "-by-"+who.name) {
		h.t.Errorf("%v for %s: %d %s", r, who.name, rec.Code, rec.Body)
	}
}

// bought sends messages of a tenant at a price for each part, and returns their ids.
func (h *house) bought(o *household, price wallet.MicroUSD, n int) (ids []string) {
	h.t.Helper()
	h.price = price
	for range n {
		rec := h.call("POST", "/v1/messages", o.key, h.fill(strings.Replace(o.body(), "A-1", "NAME", 1)))
		a := into[submitAnswer](h.t, rec.Body.String())
		if rec.Code != 201 || len(a.Guards) != 2 || a.Guards[1] != (GuardView{"wallet.balance", "funds", "pass"}) {
			h.t.Fatalf("%d %s", rec.Code, rec.Body)
		}
		ids = append(ids, a.Message.ID)
		h.advance(time.Microsecond)
	}
	return ids
}

func into[T any](t *testing.T, body string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return v
}

// The operator pays in once, whatever the number of requests; the tenant sees its wallet and each line of it, page by
// page; a message says what it costs; and what it all adds up to is proved.
//
// covers: M4, I10
func TestWalletOverTheStore(t *testing.T) {
	h := newHouse(t)
	operator, o := h.household("installation"), h.household("second")
	topUp := func(body string) (int, string) {
		rec := h.call("POST", "/v1/tenants/second/topups", operator.key, body)
		return rec.Code, rec.Body.String()
	}
	const paid = `{"amount_micro_usd":30000000,"reference":"inv-1","reason":"bank transfer"}`
	code, body := topUp(paid)
	first := into[PaymentView](t, body)
	if code != 201 || !first.Made || first.Amount != 30_000_000 || first.Kind != "topup" || first.By == "" {
		t.Fatalf("%d %s", code, body)
	}
	if _, body = topUp(paid); into[PaymentView](t, body).Made || into[PaymentView](t, body).ID != first.ID {
		t.Errorf("again: %s", body)
	}
	if code, body = topUp(`{"amount_micro_usd":1,"reference":"inv-1","reason":"x"}`); code != 409 {
		t.Errorf("another amount: %d %s", code, body)
	}
	h.advance(time.Microsecond)
	sent := h.bought(o, 100, 3)
	v := into[WalletView](t, h.call("GET", "/v1/wallet", o.key, "").Body.String())
	if v.Balance != 30_000_005 || v.Held != 300 || v.Available != 29_999_705 || *v.Limit != 20_000_000 || *v.LimitLeft != 19_999_700 || v.LimitAt != nil {
		t.Errorf("%+v", v)
	}
	m := into[OneMessageView](t, h.call("GET", "/v1/messages/"+sent[0], o.key, "").Body.String())
	if m.Cost == nil || *m.Cost != (CostView{Held: 100}) {
		t.Errorf("a message costs %+v", m.Cost)
	}
	if free := into[OneMessageView](t, h.call("GET", "/v1/messages/"+o.message.String(), o.key, "").Body.String()); free.Cost != nil {
		t.Errorf("a message for which nothing is paid costs %+v", free.Cost)
	}
	var kinds []string
	for after := ""; ; {
		page := into[List[EntryView]](t, h.call("GET", "/v1/wallet/entries?limit=2"+after, o.key, "").Body.String())
		for _, e := range page.Data {
			kinds = append(kinds, e.Kind)
		}
		if page.Next == nil {
			break
		}
		after = "&after=" + *page.Next
	}
	if got := strings.Join(kinds, " "); got != "charge charge charge topup topup" {
		t.Errorf("the entries are %s", got)
	}
	limit := h.call("POST", "/v1/tenants/second/limit", operator.key, `{"lift":true,"by":"ann","reason":"known for years"}`)
	if v := into[WalletView](t, limit.Body.String()); limit.Code != 200 || v.Limit != nil || v.LimitBy != "ann" || v.LimitWhy != "known for years" {
		t.Errorf("%d %s", limit.Code, limit.Body)
	}
	had := into[WalletView](t, h.call("GET", "/v1/wallet", o.key, "").Body.String())
	credit := h.call("POST", "/v1/tenants/second/limit", operator.key, `{"floor_micro_usd":-100,"by":"ann","reason":"credit"}`)
	if v := into[WalletView](t, credit.Body.String()); credit.Code != 200 || v.Limit != nil || v.Floor != -100 || v.Available != had.Available+100 || v.LimitWhy != "credit" {
		t.Errorf("%d %s", credit.Code, credit.Body)
	}
	proof := into[WalletProofView](t, h.call("GET", "/v1/wallets/verify", operator.key, "").Body.String())
	if proof.Wallets != 1 || proof.Messages != 3 || proof.Transfers != 5 || proof.Differences != 0 || len(proof.Data) != 0 {
		t.Errorf("%+v", proof)
	}
}

// covers: X5
func TestPricesOverTheStore(t *testing.T) {
	h := newHouse(t)
	operator := h.household("installation")
	h.household("second")
	put := h.call("PUT", "/v1/prices", operator.key, `{"data":[{"prefix":"+49","micro_usd":75000,"from":"2026-01-01T00:00:00Z"},{"tenant":"second","prefix":"","micro_usd":0}]}`)
	got := into[Prices](t, put.Body.String())
	if put.Code != 200 || len(got.Data) != 2 || got.Data[0].Tenant != nil || got.Data[0].Prefix != "49" || got.Data[0].Price != 75_000 || *got.Data[1].Tenant != "second" {
		t.Errorf("%d %s", put.Code, put.Body)
	}
	wrong := (&world{t: t, api: h.api}).problem(h.call("PUT", "/v1/prices", operator.key, `{"data":[
		{"prefix":"4x","micro_usd":-1,"tenant":"nobody"},{"micro_usd":1.5},{"prefix":"49","micro_usd":1},{"prefix":"49","micro_usd":2},5]}`), 400, fault.Invalid)
	if got := strings.Join(pointers(wrong), " "); got != "#/data/0/micro_usd #/data/0/prefix #/data/0/tenant #/data/1/micro_usd #/data/1/prefix #/data/3 #/data/4" {
		t.Errorf("%s", got)
	}
	if again := into[Prices](t, h.call("GET", "/v1/prices", operator.key, "").Body.String()); len(again.Data) != 2 {
		t.Errorf("a list that was refused changed the prices: %+v", again)
	}
}

// covers: M4
func TestWrongMoneyIsRefused(t *testing.T) {
	h := newHouse(t)
	operator := h.household("installation")
	h.household("second")
	for _, c := range []struct{ path, body, want string }{
		{"topups", `{"amount_micro_usd":0,"reference":"a","reason":"b"}`, "#/amount_micro_usd"},
		{"topups", `{"amount_micro_usd":1000000000001,"reference":"a","reason":"b"}`, "#/amount_micro_usd"},
		{"topups", `{"amount_micro_usd":"5","reference":" "}`, "#/amount_micro_usd #/reason #/reference"},
		{"limit", `{"by":"ann","reason":"x"}`, "#"},
		{"limit", `{"lift":true,"limit_micro_usd":5,"by":"ann","reason":"x"}`, "#"},
		{"limit", `{"lift":true,"limit_micro_usd":5,"floor_micro_usd":5,"by":"ann","reason":"x"}`, "#"},
		{"limit", `{"floor_micro_usd":"5","by":"ann","reason":"x"}`, "#/floor_micro_usd"},
		{"limit", `{"limit_micro_usd":-5,"by":"ann","reason":"x"}`, "#/limit_micro_usd"},
		{"limit", `{"lift":true}`, "#/by #/reason"},
	} {
		p := (&world{t: t, api: h.api}).problem(h.call("POST", "/v1/tenants/second/"+c.path, operator.key, c.body), 400, fault.Invalid)
		if got := strings.Join(pointers(p), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.body, got, c.want)
		}
	}
}
