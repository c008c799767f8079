package simulator

import (
	"context"
	"sync"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/provider"
)

const (
	maxPerHandset = 50
	maxHandsets   = 10_000
)

var _ provider.Phones = (*Server)(nil)

// handsets remembers the latest messages of each number, within bounds.
type handsets struct {
	mu      sync.Mutex
	phones  map[string]*phone
	changed chan struct{} // closed at the next message; nil: nobody waits
}

// phone is one number.
type phone struct {
	count    int64
	messages []provider.PhoneMessage
	unjoined []*unjoined
	systemID string // whose message it received last: answers go there
}

// add takes a text that is whole, or a part of a long one: that is shown when all of its parts are there.
func (h *handsets) add(number, systemID string, c gsm.Concat, m provider.PhoneMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.phone(number)
	p.systemID = systemID
	if c.Total > 1 {
		var whole bool
		if m, whole = p.join(c, m); !whole {
			return
		}
	}
	p.count++
	m.N = p.count
	if len(p.messages) >= maxPerHandset {
		p.messages = append(p.messages[:0], p.messages[1:]...)
	}
	p.messages = append(p.messages, m)
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// phone finds or makes a number's phone; a full memory forgets any other.
func (h *handsets) phone(number string) *phone {
	if p := h.phones[number]; p != nil {
		return p
	}
	if len(h.phones) >= maxHandsets {
		for other := range h.phones {
			delete(h.phones, other)
			break
		}
	}
	if h.phones == nil {
		h.phones = map[string]*phone{}
	}
	p := &phone{}
	h.phones[number] = p
	return p
}

// after returns what came after the n-th, and what is closed when more comes.
func (h *handsets) after(number string, n int64) ([]provider.PhoneMessage, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	var found []provider.PhoneMessage
	if p := h.phones[number]; p != nil {
		for _, m := range p.messages {
			if m.N > n {
				found = append(found, m)
			}
		}
	}
	return found, h.changed
}

func (h *handsets) systemOf(number string) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.phones[number]
	if p == nil {
		return "", false
	}
	return p.systemID, true
}

// Handset returns what a number received, oldest first. The number is digits without a plus sign.
func (s *Server) Handset(number string) []provider.PhoneMessage { return s.Received(number, 0) }

// Received implements provider.Phones.
func (s *Server) Received(number string, after int64) []provider.PhoneMessage {
	found, _ := s.handsets.after(number, after)
	return found
}

// Await implements provider.Phones.
func (s *Server) Await(ctx context.Context, number string, after int64) {
	for {
		found, changed := s.handsets.after(number, after)
		if len(found) > 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// Answer implements provider.Phones. It goes to whoever sent the handset its last message; to a handset that has
// received nothing, to the only system that is known.
func (s *Server) Answer(ctx context.Context, number, to, text string) error {
	systemID, ok := s.receiverOf(number)
	if !ok {
		return provider.ErrNobody
	}
	taken := make(chan struct{})
	if err := s.inbound(systemID, number, to, text, func() { close(taken) }); err != nil {
		return err
	}
	select {
	case <-taken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) receiverOf(number string) (string, bool) {
	if id, ok := s.handsets.systemOf(number); ok {
		return id, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.outboxes {
		return id, len(s.outboxes) == 1
	}
	return "", false
}
