package receipt

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/receipt"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// declaredOfFirst declares message ids of the first connection alone.
func declaredOfFirst(ids receipt.IDs) func(int64) evidence.Profile {
	return func(connection int64) (p evidence.Profile) {
		if connection == 1 {
			p.IDs = ids
		}
		return p
	}
}

// When the declared form of message ids changes, the answers of all attempts that await a receipt are told again,
// once. What a receipt brought is not, where receipts write another base.
//
// covers: R4, C13
func TestChangedFormsAreRegistered(t *testing.T) {
	l := newList()
	answered := func(n byte) store.AwaitedID {
		return store.AwaitedID{Message: ident.Message{n}, Attempt: 1, Part: 1, ExternalID: []byte{'a', n}, Answered: true}
	}
	brought := answered(3)
	brought.Answered = false
	l.awaited = [][]store.AwaitedID{{answered(1), brought}, {answered(2)}}
	w, _ := worker(l)
	told := func(ids receipt.IDs) (messages []byte) {
		t.Helper()
		w.cfg.Rules.Profiles = declaredOfFirst(ids)
		l.batches = nil
		if err := w.rekey(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, batch := range l.batches {
			for _, n := range batch {
				if n.Kind != evidence.Outcome || n.Outcome != message.OutcomeAccepted || n.Connection != 1 || n.Reference != -1 || string(n.ExternalID[:1]) != "a" {
					t.Errorf("told as %+v", n)
				}
				messages = append(messages, n.Message[0])
			}
		}
		return messages
	}
	l.answer = func(n []store.News) ([]store.Settled, error) { return make([]store.Settled, len(n)), nil }
	for _, c := range []struct {
		ids  receipt.IDs
		want string
	}{
		{receipt.IDs{}, ""},
		{receipt.IDs{Response: receipt.Hex, Receipt: receipt.Decimal}, "\x01\x02"},
		{receipt.IDs{Response: receipt.Hex, Receipt: receipt.Decimal}, ""}, // as it was
		{receipt.IDs{AnyCase: true}, "\x01\x03\x02"},
		{receipt.IDs{}, ""}, // ids as received are registered always
		{receipt.IDs{AnyCase: true}, "\x01\x03\x02"},
	} {
		if got := told(c.ids); string(got) != c.want {
			t.Errorf("%+v: answers of %v were told again, want %v", c.ids, got, []byte(c.want))
		}
	}
}

// A store that is away is asked again from the start; a defect in one id does not hold up the others.
func TestRegisteringIsTriedAgain(t *testing.T) {
	l := newList()
	l.awaited = [][]store.AwaitedID{{{Message: ident.Message{1}, ExternalID: []byte("a"), Answered: true}}}
	w, _ := worker(l)
	w.cfg.Rules.Profiles = declaredOfFirst(receipt.IDs{AnyCase: true})
	answers := []error{fault.New(fault.Unavailable, "locked"), fault.New(fault.Internal, "defect")}
	l.answer = func([]store.News) ([]store.Settled, error) {
		err := answers[0]
		answers = answers[1:]
		return []store.Settled{{Err: err}}, nil
	}
	if err := w.rekey(t.Context()); err == nil || fault.CodeOf(err) != fault.Unavailable {
		t.Fatalf("with the store away: %v", err)
	}
	if err := w.rekey(t.Context()); err != nil || len(answers) > 0 || l.meta["message_ids/1"] == "" {
		t.Errorf("with a defect: %v, remembered as %q", err, l.meta)
	}
	l.answer = func([]store.News) ([]store.Settled, error) { return nil, errors.New("asked again") }
	if err := w.rekey(t.Context()); err != nil {
		t.Error(err)
	}
}

// What is declared while the worker runs is registered then, and not at the next start.
func TestDeclaredWhileItRuns(t *testing.T) {
	l := newList()
	l.awaited = [][]store.AwaitedID{{{Message: ident.Message{1}, ExternalID: []byte("a"), Answered: true}}}
	w, _ := worker(l)
	var ids atomic.Pointer[receipt.IDs]
	ids.Store(&receipt.IDs{})
	w.cfg.Rules.Profiles = func(connection int64) (p evidence.Profile) {
		if connection == 1 {
			p.IDs = *ids.Load()
		}
		return p
	}
	told := make(chan ident.Message, 1)
	l.answer = func(n []store.News) ([]store.Settled, error) {
		told <- n[0].Message
		return make([]store.Settled, len(n)), nil
	}
	start(t, w)
	ids.Store(&receipt.IDs{AnyCase: true})
	w.Declared()
	select {
	case m := <-told:
		if m != (ident.Message{1}) {
			t.Errorf("told of %s", m)
		}
	case <-time.After(10 * time.Second):
		t.Error("nothing was registered under the new form")
	}
}
