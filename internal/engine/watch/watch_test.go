package watch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// versions is a store that other nodes change.
type versions struct {
	store.Store
	mu      sync.Mutex
	of      map[ident.Message]store.Version
	asked   int
	err     error
	settled []store.Settled
}

func (v *versions) Versions(_ context.Context, ids []ident.Message) (map[ident.Message]store.Version, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked++
	found := map[ident.Message]store.Version{}
	for _, id := range ids {
		if at, ok := v.of[id]; ok {
			found[id] = at
		}
	}
	return found, v.err
}

func (v *versions) change(id ident.Message, to store.Version) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.of[id] = to
}

func (v *versions) Claim(context.Context, store.ClaimSpec) (store.Claims, error) {
	return store.Claims{Taken: []store.Claimed{{Message: one}}}, nil
}

func (v *versions) OpenAttempts(context.Context, store.OpenSpec, []store.Claimed) ([]store.Opened, error) {
	return []store.Opened{{Claimed: store.Claimed{Message: one}}}, nil
}

func (v *versions) Settle(context.Context, []store.News, store.Rules) ([]store.Settled, error) {
	return v.settled, nil
}

func (v *versions) Resolve(context.Context, []store.Resolution, store.Rules) ([]store.Settled, error) {
	return []store.Settled{{Message: one}}, nil
}

var one, two = ident.Message{1}, ident.Message{2}

func hub(v *versions) *Hub { return New(Config{Store: v, Log: slog.New(slog.DiscardHandler)}) }

func told(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// What this node commits is told to all who wait for the message, and to nobody else.
func TestCommitsOfThisNodeAreToldAtOnce(t *testing.T) {
	v := &versions{of: map[ident.Message]store.Version{}}
	h := hub(v)
	s := Store{Store: v, Hub: h}
	first, stopFirst := h.Watch(one)
	second, stopSecond := h.Watch(one)
	other, stopOther := h.Watch(two)
	defer stopSecond()
	defer stopOther()
	ctx := t.Context()
	for name, commits := range map[string]func() error{
		"a resolution": func() error { _, err := s.Resolve(ctx, nil, store.Rules{}); return err },
		"a claim":      func() error { _, err := s.Claim(ctx, store.ClaimSpec{}); return err },
		"an attempt":   func() error { _, err := s.OpenAttempts(ctx, store.OpenSpec{}, nil); return err },
		"an outcome": func() error {
			v.settled = []store.Settled{{Message: two, Err: errors.New("refused")}, {Message: one}, {}}
			_, err := s.Settle(ctx, nil, store.Rules{})
			return err
		},
	} {
		if err := commits(); err != nil || !told(first) || !told(second) || told(other) {
			t.Errorf("%s was not told to those who wait for it, and to them alone: %v", name, err)
		}
	}
	stopFirst()
	h.Changed(one, one) // one signal is enough, and a slow waiter holds up nobody
	if told(first) || !told(second) || told(second) {
		t.Error("who has left is told, or somebody is told twice")
	}
	if len(h.watched) != 2 {
		t.Errorf("%d messages are watched", len(h.watched))
	}
}

// What other nodes commit is found by one question a second, however many wait, and none where nobody does.
func TestCommitsOfOtherNodesAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &versions{of: map[ident.Message]store.Version{one: {State: message.Pending, LastEvent: 1}}}
		h := hub(v)
		h.Start(t.Context())
		defer h.Stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if v.asked != 0 {
			t.Errorf("%d questions while nobody waited", v.asked)
		}
		var all []<-chan struct{}
		for range 100 {
			c, stop := h.Watch(one)
			defer stop()
			all = append(all, c)
		}
		absent, stop := h.Watch(two)
		defer stop()
		pass := func() {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		pass()
		for _, c := range all {
			told(c) // whether it had changed since the first look nobody knows
		}
		pass()
		if told(all[0]) || told(absent) {
			t.Error("nothing has changed, and somebody is told")
		}
		asked := v.asked
		v.change(one, store.Version{State: message.Sending, LastEvent: 1})
		pass()
		for i, c := range all {
			if !told(c) {
				t.Fatalf("waiter %d is not told", i)
			}
		}
		if v.asked != asked+1 || told(absent) {
			t.Errorf("%d questions in a second", v.asked-asked)
		}
	})
}

// A store that is away is asked again.
func TestAStoreThatIsAwayIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &versions{of: map[ident.Message]store.Version{one: {State: message.Pending}}, err: errors.New("away")}
		h := hub(v)
		c, stop := h.Watch(one)
		defer stop()
		h.Start(t.Context())
		defer h.Stop()
		time.Sleep(3*time.Second + time.Millisecond)
		synctest.Wait()
		v.mu.Lock()
		if v.asked != 3 || told(c) {
			t.Errorf("%d questions", v.asked)
		}
		v.err = nil
		v.mu.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		if !told(c) {
			t.Error("it is not told of")
		}
	})
}
