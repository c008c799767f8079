package dispatch

import "sync"

// pile holds what one stage is done with until the next one has time for it. It has no bound: what is in it is
// owed to somebody and must not be refused. Whoever makes new work looks at what is owed first.
type pile[T any] struct {
	mu     sync.Mutex
	more   sync.Cond
	items  []T
	closed bool
}

func newPile[T any]() *pile[T] {
	p := &pile[T]{}
	p.more.L = &p.mu
	return p
}

// put reports false if the pile is closed: nobody will take the items.
func (p *pile[T]) put(items ...T) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.items = append(p.items, items...)
	p.more.Signal()
	return true
}

// take waits for items and returns at most n of them, the oldest first. After close it empties the pile and
// then reports false.
func (p *pile[T]) take(n int) ([]T, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.items) == 0 && !p.closed {
		p.more.Wait()
	}
	if len(p.items) == 0 {
		return nil, false
	}
	n = min(n, len(p.items))
	taken := p.items[:n:n]
	p.items = p.items[n:]
	if len(p.items) > 0 {
		p.more.Signal()
	}
	return taken, true
}

func (p *pile[T]) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.more.Broadcast()
}

// abandon closes the pile and drops what is in it.
func (p *pile[T]) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed, p.items = true, nil
	p.more.Broadcast()
}
