package storetest

import (
	"errors"
	"sync"
	"testing"

	"github.com/einmal/einmal/internal/store"
)

// marks is a place for marks in memory.
type marks struct {
	mu     sync.Mutex
	own    *store.Mark
	others []store.Mark
	fail   error // of Put
	puts   int
}

var errNoRoom = errors.New("no room for the mark")

// Marks implements store.Marker.
func (m *marks) Marks() (*store.Mark, []store.Mark, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.own, m.others, nil
}

// Put implements store.Marker.
func (m *marks) Put(mark store.Mark) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail == nil {
		m.own, m.puts = &mark, m.puts+1
	}
	return m.fail
}

func (m *marks) set(fail error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = fail
}

// sum is how many transactions the mark says were acknowledged.
func (m *marks) sum() (n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.own != nil {
		for _, one := range m.own.Numbers {
			n += one
		}
	}
	return n
}

// left is the place as a node leaves it that is killed at this moment.
func (m *marks) left() *marks {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &marks{own: m.own}
}

// elsewhere is what another node sees of the mark.
func (m *marks) elsewhere() *marks { return &marks{others: []store.Mark{*m.left().own}} }

// watched is a store with its mark, a world on it, and what Watch found.
func watched(t *testing.T, h Harness, s store.Store, m *marks) (*world, store.Watched) {
	t.Helper()
	found, err := s.Watch(t.Context(), m)
	must(t, err)
	if _, err := s.PolicyHead(t.Context()); err == nil {
		return worldAgain(t, h, s), found
	}
	return worldOn(t, h, s), found
}
