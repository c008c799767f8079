package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/provider"
)

// handsets are those of one carrier, with one number.
type handsets struct {
	from     string
	at       []int64 // when messages came, the oldest first
	got      []string
	sent     chan struct{}
	nobodyIs error
}

func (h *handsets) Received(_ string, after int64) (all []provider.PhoneMessage) {
	for i, at := range h.at {
		if n := int64(i + 1); n > after {
			all = append(all, provider.PhoneMessage{N: n, From: h.from, At: time.Unix(at, 0)})
		}
	}
	return all
}

func (h *handsets) Await(ctx context.Context, _ string, after int64) {
	if len(h.Received("", after)) > 0 {
		return
	}
	select {
	case <-h.sent:
	case <-ctx.Done():
	}
}

func (h *handsets) Answer(_ context.Context, _, _, text string) error {
	if h.nobodyIs == nil {
		h.got = append(h.got, text)
	}
	return h.nobodyIs
}

// A handset shows what all simulated carriers brought, in one order, and answers to the one that wrote last.
func TestHandsetsOfSeveralCarriers(t *testing.T) {
	a, b := &handsets{from: "A", at: []int64{1, 4}, sent: make(chan struct{})}, &handsets{from: "B", at: []int64{2, 3}, sent: make(chan struct{})}
	p := phones{a, b}
	order := func(after int64) string {
		var out strings.Builder
		for _, m := range p.Received("1", after) {
			out.WriteString(m.From)
			if m.N <= after {
				t.Errorf("message %d behind %d", m.N, after)
			}
		}
		return out.String()
	}
	if order(0) != "ABBA" || order(3) != "A" || order(4) != "" {
		t.Errorf("the order is %s, then %s", order(0), order(3))
	}
	if err := p.Answer(t.Context(), "1", "2", "to A"); err != nil || len(a.got) != 1 || len(b.got) != 0 {
		t.Errorf("the answer: %v, %q, %q", err, a.got, b.got)
	}
	b.at = append(b.at, 9)
	b.nobodyIs = provider.ErrNobody
	if err := p.Answer(t.Context(), "1", "2", "again"); err != nil || len(a.got) != 2 {
		t.Errorf("where the last one has nobody: %v", err)
	}
	a.nobodyIs = provider.ErrNobody
	if err := p.Answer(t.Context(), "1", "2", "again"); !errors.Is(err, provider.ErrNobody) {
		t.Errorf("where none has: %v", err)
	}
	p.Await(t.Context(), "1", 2) // there is more already
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		p.Await(t.Context(), "1", 5)
	}()
	close(b.sent)
	select {
	case <-waited:
	case <-time.After(10 * time.Second):
		t.Error("a message of the second carrier was not noticed")
	}
}

// The node is not ready where nothing works that should, and is as long as one line does.
func TestNoLineWorks(t *testing.T) {
	s := newLines()
	broken, fine, off := &line{id: 1, name: "a", enabled: true}, &line{id: 2, name: "b", enabled: true}, &line{id: 3, name: "c"}
	broken.problem.Store("password: missing")
	for _, c := range []struct {
		all  []*line
		want string
	}{{[]*line{broken, fine, off}, ""}, {[]*line{broken, off}, "a: password: missing"}, {[]*line{off}, ""}, {nil, ""}} {
		byID := map[int64]*line{}
		for _, l := range c.all {
			byID[l.id] = l
		}
		s.now.Store(newSnapshot(byID, routes{}))
		if got := s.troubled(); got != c.want {
			t.Errorf("of %d lines: %q, want %q", len(c.all), got, c.want)
		}
	}
}
