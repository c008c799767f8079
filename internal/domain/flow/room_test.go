package flow

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A campaign never fills the window, and a code finds a place in a window that a campaign has filled.
//
// covers: D19
func TestAPartOfTheWindowIsKeptForCodes(t *testing.T) {
	for _, c := range []struct {
		name   string
		window Window
		want   Room
	}{
		{"empty", Window{Free: 10, Pace: 1}, Room{10, 9}},
		{"full of a campaign", Window{Free: 1, Flying: 9, FlyingLower: 9, Pace: 1}, Room{1, 0}},
		{"full of codes", Window{Free: 0, Flying: 10, Pace: 1}, Room{0, 0}},
		{"codes beside a campaign", Window{Free: 4, Flying: 6, FlyingLower: 2, Pace: 1}, Room{4, 4}},
		{"reserved", Window{Free: 10, Reserved: 9, ReservedLower: 9, Pace: 1}, Room{1, 0}},
		{"of one place", Window{Free: 1, Pace: 1}, Room{1, 1}},
		{"of two places", Window{Free: 2, Pace: 1}, Room{2, 1}},
		{"large", Window{Free: 1000, Pace: 1}, Room{MostAtOnce, LowerAhead}},
		{"slowed to half", Window{Free: 10, Pace: 0.5}, Room{5, 4}},
		{"slowed while more is under way", Window{Free: 2, Flying: 8, FlyingLower: 8, Pace: 0.5}, Room{0, 0}},
		{"not bound", Window{Pace: 1}, Room{0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.window.Room(); got != c.want {
				t.Errorf("the room is %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestTheRoomIsNeverMoreThanIsFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string) int { return rapid.IntRange(0, 300).Draw(t, name) }
		w := Window{Free: n("free"), Flying: n("flying"), Reserved: n("reserved"), Pace: rapid.SampledFrom([]float64{1, 0.5, slowest}).Draw(t, "pace")}
		w.FlyingLower, w.ReservedLower = min(w.Flying, n("flying lower")), min(w.Reserved, n("reserved lower"))
		r := w.Room()
		if r.Lower < 0 || r.Lower > r.All || r.All < 0 || r.All > max(0, w.Free-w.Reserved) || r.Lower > 0 && r.Lower+w.ReservedLower > LowerAhead {
			t.Fatalf("%+v has room for %+v", w, r)
		}
	})
}

// covers: D19
func TestThePaceIsHalvedAndStepsUp(t *testing.T) {
	var p Pace
	now := time.Unix(1_800_000_000, 0)
	at := func(ms int) time.Time { return now.Add(time.Duration(ms) * time.Millisecond) }
	if p.Share(at(0)) != 1 {
		t.Error("the pace does not begin full")
	}
	p.Slow(at(-100))
	p.Slow(at(0)) // the answers to what was under way say the same
	for _, c := range []struct {
		ms   int
		want float64
	}{{100, 0.5}, {999, 0.5}, {1000, 0.625}, {2500, 0.75}, {4000, 1}, {60_000, 1}} {
		if got := p.Share(at(c.ms)); got != c.want {
			t.Errorf("after %d ms the pace is %v, want %v", c.ms, got, c.want)
		}
	}
	p.Slow(at(1000))
	if got := p.Share(at(1000)); got != 0.3125 {
		t.Errorf("halved from 0.625 it is %v", got)
	}
	for half := range 40 {
		p.Slow(at(2000 + 500*half))
	}
	if got := p.Share(at(22_000)); got != slowest {
		t.Errorf("halved again and again it is %v", got)
	}
}
