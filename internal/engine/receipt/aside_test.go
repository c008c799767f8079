package receipt

import (
	"slices"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

var (
	errLocked = fault.New(fault.Unavailable, "locked")
	errDefect = fault.New(fault.Internal, "a defect")
)

// failing makes a list on which every receipt fails.
func failing(err error) *list {
	l := newList()
	l.answer = func(n []store.News) ([]store.Settled, error) {
		out := make([]store.Settled, len(n))
		for i := range out {
			out[i].Err = err
		}
		return out, nil
	}
	return l
}

// How long a receipt lets those behind it go first, by what it met and how often. Nobody gives up on a lock; a defect
// is told to a person after a while.
//
// covers: R6
func TestPauses(t *testing.T) {
	for _, c := range []struct {
		err   error
		tries int
		want  time.Duration // 0: given up
	}{
		{errLocked, 0, time.Second}, {errLocked, 3, 8 * time.Second}, {errLocked, 6, time.Minute}, {errLocked, 1000, time.Minute},
		{errDefect, 0, time.Minute}, {errDefect, 2, 4 * time.Minute}, {errDefect, 6, time.Hour}, {errDefect, 7, 0}, {errDefect, 1000, 0},
	} {
		l := failing(c.err)
		w, _ := worker(l)
		r := store.DueReceipt{LoggedReceipt: *logged(provider.KindReceipt), Tries: c.tries}
		if n := w.putAside(t.Context(), []store.DueReceipt{r}, map[ident.Receipt]error{r.ID: c.err}); n != 1 {
			t.Errorf("%d are out of the way", n)
		}
		var got time.Duration
		if len(l.putOff) == 1 {
			got = l.putOff[0].For
		}
		if got != c.want || slices.Equal(l.givenUp, []ident.Receipt{r.ID}) != (c.want == 0) {
			t.Errorf("%v after %d tries: put off for %s and given up %v, want %s", c.err, c.tries, got, l.givenUp, c.want)
		}
	}
}

// However many receipts fail, those behind them have their effect in the same sweep.
//
// covers: R6, I6
func TestWhatFailsStandsInNobodysWay(t *testing.T) {
	for name, err := range map[string]error{"locked": errLocked, "defect": errDefect} {
		l := failing(err)
		fails := map[ident.Receipt]bool{}
		for range 2 * maxBatch {
			d := store.DueReceipt{LoggedReceipt: *logged(provider.KindReceipt)}
			fails[d.ID] = true
			l.due = append(l.due, d)
		}
		last := store.DueReceipt{LoggedReceipt: *logged(provider.KindReceipt)}
		l.due = append(l.due, last)
		had := false
		l.answer = func(n []store.News) ([]store.Settled, error) {
			out := make([]store.Settled, len(n))
			for i := range out {
				had = had || n[i].Receipt.ID == last.ID
				if fails[n[i].Receipt.ID] {
					out[i].Err = err
				}
			}
			return out, nil
		}
		w, _ := worker(l)
		w.sweep(t.Context())
		if !had {
			t.Errorf("%s: the receipt behind them waits", name)
		}
	}
}

// A store that keeps nothing is asked again by the next sweep, not in this one.
func TestAStoreThatCannotPutOff(t *testing.T) {
	l := failing(errDefect)
	l.away = errLocked
	asked := 0
	was := l.answer
	l.answer = func(n []store.News) ([]store.Settled, error) { asked++; return was(n) }
	w, _ := worker(l)
	for i := range 2 * maxBatch {
		l.due = append(l.due, store.DueReceipt{LoggedReceipt: *logged(provider.KindReceipt), Tries: 7 * (i % 2)})
	}
	w.sweep(t.Context())
	if asked != 1 {
		t.Errorf("it was asked %d times in one sweep", asked)
	}
}
