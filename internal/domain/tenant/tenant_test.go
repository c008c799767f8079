package tenant_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
)

func TestNames(t *testing.T) {
	for _, good := range []string{"a", "acme", "acme-shop", "7", "a-1", strings.Repeat("a", 40)} {
		if !tenant.CheckName(good) {
			t.Errorf("%q is refused", good)
		}
	}
	for _, bad := range []string{"", "-", "a-", "-a", "Acme", "acme shop", "acme/shop", "ä", "a\n", "{id}", strings.Repeat("a", 41)} {
		if tenant.CheckName(bad) {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestWordsReadBack(t *testing.T) {
	for _, name := range tenant.States() {
		if tenant.ParseState(name).String() != name {
			t.Errorf("the state %s", name)
		}
	}
	for _, name := range tenant.KeyKinds() {
		if tenant.ParseKeyKind(name).String() != name {
			t.Errorf("the kind %s", name)
		}
	}
	if tenant.ParseState("") != 0 || tenant.ParseKeyKind("root") != 0 {
		t.Error("words that do not exist are read")
	}
}

func TestTwoKeysOfAName(t *testing.T) {
	for live, want := range []bool{true, true, false, false} {
		if err := tenant.RoomForKey(live); (err == nil) != want || !want && fault.CodeOf(err) != fault.State {
			t.Errorf("beside %d: %v", live, err)
		}
	}
}

// moments are few, so that terms touch and cover each other often.
var moments = rapid.Custom(func(t *rapid.T) clock.Micros { return clock.Micros(rapid.IntRange(1, 6).Draw(t, "moment")) })

var terms = rapid.Custom(func(t *rapid.T) tenant.Term {
	term := tenant.Term{Begins: moments.Draw(t, "begins")}
	if rapid.Bool().Draw(t, "ends") {
		term.Ends = term.Begins + moments.Draw(t, "length") - 1
	}
	return term
})

// within says by the plain meaning whether a moment is in a term.
func within(t tenant.Term, m clock.Micros) bool { return t.Begins <= m && (t.Ends == 0 || m < t.Ends) }

// A lease is refused exactly if some moment would be in two leases.
func TestOverlaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := terms.Draw(t, "a"), terms.Draw(t, "b")
		common := false
		for m := clock.Micros(0); m < 20; m++ {
			common = common || within(a, m) && within(b, m)
		}
		if a.Overlaps(b) != common || b.Overlaps(a) != common {
			t.Fatalf("%+v and %+v: overlap %t, common moments %t", a, b, a.Overlaps(b), common)
		}
		if err := tenant.Lease(a, []tenant.Term{b}); (err != nil) != common {
			t.Fatalf("%+v beside %+v: %v", a, b, err)
		}
	})
}

func TestALeaseEndsAfterItBegins(t *testing.T) {
	if err := tenant.Lease(tenant.Term{Begins: 5, Ends: 4}, nil); fault.CodeOf(err) != fault.State || err == nil {
		t.Errorf("%v", err)
	}
}

// Another end never changes whose the number was in the past.
func TestEndingLeavesThePast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		term, now := terms.Draw(t, "term"), moments.Draw(t, "now")
		ends := rapid.SampledFrom([]clock.Micros{0, 1, 2, 3, 4, 5, 6, 7}).Draw(t, "ends")
		got := term.Ended(ends, now)
		for m := clock.Micros(0); m < now; m++ {
			if within(term, m) && !within(got, m) {
				t.Fatalf("%+v ended at %d, asked at %d, is %+v: it was leased at %d", term, ends, now, got, m)
			}
		}
		for m := now; m < 20; m++ {
			if want := m >= term.Begins && (ends == 0 || m < ends); within(got, m) != want {
				t.Fatalf("%+v ended at %d, asked at %d, is %+v at %d", term, ends, now, got, m)
			}
		}
	})
}

func TestLogins(t *testing.T) {
	for raw, want := range map[string]string{
		"ann": "ann", " Ann@Example.COM ": "ann@example.com", "JO\u0308RG": "j\u00f6rg", "J\u00d6RG": "j\u00f6rg", "\u212aim": "kim",
	} {
		if got, ok := tenant.Login(raw); !ok || got != want {
			t.Errorf("%q is %q, %t; want %q", raw, got, ok, want)
		}
	}
	for _, bad := range []string{"", " ", "a b", "a\u00a0b", "a\u200bb", "a\nb", "a\x00", "\xff", "\u202eann", strings.Repeat("a", 101)} {
		if got, ok := tenant.Login(bad); ok {
			t.Errorf("%q is taken as %q", bad, got)
		}
	}
}

// What is a login is one in its stored form, too, and stays that.
func TestALoginIsItsOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if got, ok := tenant.Login(rapid.String().Draw(t, "raw")); ok {
			if again, ok := tenant.Login(got); !ok || again != got {
				t.Fatalf("%q becomes %q, %t", got, again, ok)
			}
		}
	})
}

func TestTheTeamIsReachedAlone(t *testing.T) {
	if g := tenant.Team(true); g.Result != intent.GuardPass || g.Words != "" {
		t.Errorf("%+v", g)
	}
	if g := tenant.Team(false); g.Result != intent.GuardRefuse || g.Kind != intent.GuardTeam || g.Words == "" {
		t.Errorf("%+v", g)
	}
}
