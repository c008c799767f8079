package wallet

import (
	"testing"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"pgregory.net/rapid"
)

func someState() *rapid.Generator[State] { return rapid.SampledFrom(append(States(), 0)) }

// Whatever charges and payments a wallet bears in whatever order, it stays above its floor and within its limit, and is
// the sum of what it bore.
//
// covers: M4, I10
func TestWalletNeverCrossesItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := New()
		w.Limit = MicroUSD(rapid.IntRange(0, 60).Draw(t, "limit"))
		charges := map[int]State{}
		amounts := map[int]MicroUSD{}
		var sum Delta
		for i := range 40 {
			d := Paid(MicroUSD(rapid.IntRange(-5, 20).Draw(t, "paid")))
			which := rapid.IntRange(0, 9).Draw(t, "charge")
			to := charges[which]
			if rapid.Bool().Draw(t, "a charge") {
				if charges[which] == 0 {
					amounts[which] = MicroUSD(rapid.IntRange(1, 20).Draw(t, "amount"))
				}
				to = rapid.SampledFrom(States()).Draw(t, "to")
				d = Moved(charges[which], to, amounts[which])
			}
			before := w
			if w.Bears(d) != NoShortage {
				if !d.Takes() {
					t.Fatalf("step %d: what takes nothing was not borne: %+v by %+v", i, d, w)
				}
				continue
			}
			w, charges[which], sum = w.After(d), to, sum.Plus(d)
			if w.Available() < 0 && d.Takes() && before.Available() >= 0 || w.Exposure() > w.Limit && d.Spent+d.Held > 0 {
				t.Fatalf("step %d: %+v became %+v by %+v", i, before, w, d)
			}
		}
		var held, spent MicroUSD
		for which, s := range charges {
			switch s {
			case Held:
				held += amounts[which]
			case Settled:
				spent += amounts[which]
			}
		}
		if w.Held != held || w.Spent != spent || w.Balance != sum.Balance {
			t.Fatalf("%+v, and its charges are held %d, settled %d", w, held, spent)
		}
	})
}

// A charge that goes any way round and comes back has moved nothing, and settling what is held needs nothing more.
//
// covers: I10
func TestMovesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := MicroUSD(rapid.IntRange(1, 1000).Draw(t, "amount"))
		a, b, c := someState().Draw(t, "a"), someState().Draw(t, "b"), someState().Draw(t, "c")
		if got := Moved(a, b, amount).Plus(Moved(b, c, amount)).Plus(Moved(c, a, amount)); got != (Delta{}) {
			t.Fatalf("%v → %v → %v → %v leaves %+v", a, b, c, a, got)
		}
	})
	if d := Moved(Held, Settled, 7); d.Takes() || d != (Delta{Balance: -7, Held: -7, Spent: 7}) {
		t.Errorf("settling is %+v", d)
	}
	for _, from := range States() {
		for _, to := range States() {
			if Moves(from, to) != (from == Held && to != Held) || Corrects(from, to) != (from != to) {
				t.Errorf("%s to %s: moves %t, corrected %t", from, to, Moves(from, to), Corrects(from, to))
			}
		}
	}
}

// covers: M4
func TestNewTenantsHaveALimit(t *testing.T) {
	w := New().After(Paid(100 * Dollar))
	for spent := MicroUSD(0); spent < 20*Dollar; spent += Dollar {
		if w.Bears(Moved(0, Held, Dollar)) != NoShortage {
			t.Fatalf("refused after %s", spent)
		}
		w = w.After(Moved(0, Held, Dollar)).After(Moved(Held, Settled, Dollar))
	}
	if got := w.Bears(Moved(0, Held, 1)); got != OverLimit {
		t.Errorf("past 20 dollars: %d", got)
	}
	w = w.After(Paid(1000 * Dollar)) // what is paid in moves no limit
	if got := w.Bears(Moved(0, Held, 1)); got != OverLimit {
		t.Errorf("after a payment: %d", got)
	}
	w.Limit = Lifted
	if w.Bears(Moved(0, Held, w.Available())) != NoShortage || w.Bears(Moved(0, Held, w.Available()+1)) != NoFunds {
		t.Error("without a limit the balance is the bound")
	}
}

func TestMoneyInWords(t *testing.T) {
	for m, want := range map[MicroUSD]string{
		0: "0.00 USD", 1: "0.000001 USD", 12_500: "0.0125 USD", 20 * Dollar: "20.00 USD", -1_500_000: "-1.50 USD", 75_000: "0.075 USD",
		-9223372036854775808: "-9223372036854.775808 USD",
	} {
		if got := m.String(); got != want {
			t.Errorf("%d is %q, want %q", int64(m), got, want)
		}
	}
}

func TestPaymentsHaveTwoSides(t *testing.T) {
	for _, k := range []Kind{Charge, TopUp, Adjustment} {
		debit, credit := Sides(k)
		if debit == credit || debit != Tenant && credit != Tenant || k.String() == "" || debit.String() == "" || credit.String() == "" {
			t.Errorf("%s goes from %s to %s", k, debit, credit)
		}
	}
	if k, amount := PaymentOf(-5); k != Adjustment || amount != 5 {
		t.Errorf("%s %d", k, amount)
	}
	if k, amount := PaymentOf(5); k != TopUp || amount != 5 {
		t.Errorf("%s %d", k, amount)
	}
}

// covers: X5
func TestPricesAreFound(t *testing.T) {
	b := NewBook([]Price{
		{0, "", 90, 0}, {0, "1", 10, 5}, {0, "1", 11, 10}, {0, "1202", 8, 0}, {7, "1", 3, 0}, {7, "49", 0, 0}, {8, "", 1, 20},
	})
	for _, c := range []struct {
		tenant int
		to     string
		now    int64
		want   MicroUSD
	}{
		{5, "+12025550143", 0, 8}, {5, "+13035550143", 0, 90}, {5, "+13035550143", 5, 10}, {5, "+13035550143", 9, 10}, {5, "+13035550143", 10, 11},
		{5, "+447700900123", 0, 90}, {7, "+12025550143", 0, 3}, {7, "+4915123456789", 0, 0}, {7, "+447700900123", 0, 90},
		{8, "+12025550143", 19, 8}, {8, "+12025550143", 20, 1}, {5, "+", 0, 90},
	} {
		if got, ok := b.Offer(ident.Partition(c.tenant), c.to).At(clock.Micros(c.now)); !ok || got != c.want {
			t.Errorf("tenant %d to %s at %d: %d, want %d", c.tenant, c.to, c.now, got, c.want)
		}
	}
	if o := b.Offer(7, "+12025550143"); len(o) != 1 {
		t.Errorf("what cannot hold is offered: %+v", o)
	}
	if _, ok := NewBook([]Price{{0, "1", 5, 2}}).Offer(1, "+12025550143").At(1); ok {
		t.Error("a price was found before it begins")
	}
	if _, ok := NewBook([]Price{{0, "49", 5, 0}}).Offer(1, "+12025550143").At(1); ok {
		t.Error("a price was found where there is none")
	}
	if _, ok := NewBook(nil).Offer(1, "").At(0); ok {
		t.Error("a price was found in an empty book")
	}
	for s, want := range map[string]bool{"": true, "+49": true, "49": true, "4x": false, "+": false, "1234567890123456": false, "++4": false, "0": false, "+049": false, "0049": false} {
		if _, ok := Prefix(s); ok != want {
			t.Errorf("%q: %t", s, ok)
		}
	}
}

func TestAmountsAreRead(t *testing.T) {
	for s, want := range map[string]MicroUSD{"50": 50 * Dollar, "-12.5": -12_500_000, "0.0075": 7_500, "0.000001": 1, "0": 0, "1000000": Largest} {
		if got, ok := ParseUSD(s); !ok || got != want {
			t.Errorf("%q is %d, %t; want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{"", ".", ".5", "5.", "1,5", "1e3", "+5", "0.0000001", "1000001", "--1", " 1", "99999999999999999999"} {
		if got, ok := ParseUSD(s); ok {
			t.Errorf("%q was read as %d", s, got)
		}
	}
}
