package simulator

import (
	"sync"
	"time"
)

// Received is a message that a simulated handset shows.
type Received struct {
	At        time.Time
	From      string
	Text      string
	MessageID string
}

const (
	maxPerHandset = 50
	maxHandsets   = 10_000
)

// handsets remembers the latest messages of each number, within bounds.
type handsets struct {
	mu       sync.Mutex
	messages map[string][]Received
}

func (h *handsets) add(number string, m Received) {
	h.mu.Lock()
	defer h.mu.Unlock()
	list, known := h.messages[number]
	if !known && len(h.messages) >= maxHandsets {
		for other := range h.messages {
			delete(h.messages, other)
			break
		}
	}
	if len(list) >= maxPerHandset {
		list = append(list[:0], list[1:]...)
	}
	if h.messages == nil {
		h.messages = map[string][]Received{}
	}
	h.messages[number] = append(list, m)
}

// Handset returns what a number received, oldest first. The number is digits without a plus sign.
func (s *Server) Handset(number string) []Received {
	s.handsets.mu.Lock()
	defer s.handsets.mu.Unlock()
	return append([]Received(nil), s.handsets.messages[number]...)
}
