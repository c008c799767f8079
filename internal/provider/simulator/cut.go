package simulator

import (
	"sync"
	"time"

	wire "github.com/einmal/einmal/internal/smpp"
)

const (
	// cutQuiet is how long a connection must have been quiet before it is cut, so that the ending of one message
	// does not make others unknown that happen to be under way beside it.
	cutQuiet = 20 * time.Millisecond
	// cutMost bounds the wait. A connection that is never quiet is cut in the middle, and then what is under way
	// on it is unknown to the other side, as it is in the field.
	cutMost = 500 * time.Millisecond
)

// cut ends a connection without an unbind, as soon as nothing else is under way on it.
type cut struct {
	mu    sync.Mutex
	heard time.Time // when the last PDU came
	owed  int       // answers that wait for the receipt before them
	by    time.Time // when it is cut at the latest; zero: it is not to be cut
	then  []func()  // what comes after it
}

func (c *cut) hear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = time.Now()
}

func (c *cut) owe(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owed += n
}

// cutWhenQuiet cuts the connection of s and calls then, at once or soon, in another goroutine.
func (c *cut) cutWhenQuiet(s *wire.Session, window int, then func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.then = append(c.then, then)
	if c.by.IsZero() {
		c.by = time.Now().Add(cutMost)
		time.AfterFunc(cutQuiet, func() { c.try(s, window) })
	}
}

func (c *cut) try(s *wire.Session, window int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	busy := now.Sub(c.heard) < cutQuiet || c.owed > 0 || s.Free() < window
	if busy && now.Before(c.by) {
		time.AfterFunc(cutQuiet, func() { c.try(s, window) })
		return
	}
	s.Hangup()
	for _, then := range c.then {
		then()
	}
	c.then = nil
}
