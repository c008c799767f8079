package clock

import (
	"sync"
	"time"
)

// Manual is a clock that stands still until a test moves it.
type Manual struct {
	mu  sync.Mutex
	now time.Time
}

// NewManual returns a clock that shows t.
func NewManual(t time.Time) *Manual { return &Manual{now: t.UTC()} }

// Now returns the time that was set last.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Advance moves the clock forward by d.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}
