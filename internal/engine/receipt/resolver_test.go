package receipt

import (
	"slices"
	"testing"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Reading one exception's receipt again resolves it where that has an effect, and leaves it open where it has none.
//
// covers: R6, R9
func TestOneIsReadAgain(t *testing.T) {
	a := holding("A delivered", "B unknown", "", "D locked")
	r, _ := resolver(a, box{})
	ask := func(i int) error {
		return r.Resolve(t.Context(), store.Resolution{Exception: a.exceptions[i].ID, Action: exception.ReRead, Person: "ann", Reason: "r"})
	}
	for i, want := range []exception.State{exception.Reread, exception.Open, exception.Open, exception.Open} {
		err := ask(i)
		if (err != nil) != (i >= 2) || a.exceptions[i].State != want {
			t.Errorf("%d: %v, %s", i, err, a.exceptions[i].State)
		}
	}
	reads := len(a.batches)
	if err := ask(0); err != nil || len(a.batches) != reads {
		t.Errorf("a second time it is read again, or an error: %v", err)
	}
	a.exceptions[1].State = exception.Dismissed
	if err := ask(1); fault.CodeOf(err) != fault.State {
		t.Errorf("what was dismissed is read again: %v", err)
	}
	a.exceptions[3].Receipt = ident.Receipt{}
	if err := ask(3); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("what has no receipt is read again: %v", err)
	}
	if err := r.Resolve(t.Context(), store.Resolution{Exception: ident.Exception{77}, Action: exception.ReRead}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("one that is not there: %v", err)
	}
}

// A group is read again to its end, however many stay open; it is dismissed a batch at a time.
//
// covers: R6, R9
func TestGroups(t *testing.T) {
	payloads := slices.Repeat([]string{"B unknown", "A delivered", "B unknown"}, 90)
	a := holding(append(payloads, "")...)
	a.exceptions[5].Kind = exception.Unmatched
	r, told := resolver(a, box{})
	g := Group{GroupKey: store.GroupKey{Connection: 1, Kind: exception.Unreadable}}
	done, failed, err := r.ResolveGroup(t.Context(), g, exception.ReRead, "ann", "it was mended")
	if done != 90 || len(failed) != 1 || err != nil || a.exceptions[1].Resolution.By != "ann" || *told == 0 {
		t.Errorf("%d of 90 resolved, failed %v, %v", done, failed, err)
	}
	for _, want := range []int{100, 80} {
		a.resolved = nil
		done, failed, err = r.ResolveGroup(t.Context(), g, exception.Dismiss, "bob", "noise")
		if done != want || len(a.resolved) != want || len(failed) != 0 || err != nil || a.resolved[0].Person != "bob" {
			t.Errorf("%d dismissed, want %d; failed %v, %v", done, want, failed, err)
		}
		for _, x := range a.resolved {
			for _, y := range a.exceptions {
				if y.ID == x.Exception {
					y.State = exception.Dismissed
				}
			}
		}
	}
	if done, failed, err = r.ResolveGroup(t.Context(), g, exception.Dismiss, "bob", "noise"); done != 0 || failed != nil || err != nil {
		t.Errorf("an empty group: %d %v %v", done, failed, err)
	}
}
