package dispatch

import "sync"

// pile holds what one stage is done with until the next one has time for it. It has no bound: what is in it is
// owed to somebody and must not be refused. Whoever makes new work looks at what is owed first.
type pile[T any] struct {
	mu     sync.Mutex
	more   sync.Cond
	items  []T
	first  []T          // what is taken before the others, and without them: a small batch is a quick one
	isOne  func(T) bool // whether an item belongs there
	closed bool
}

func newPile[T any](isFirst func(T) bool) *pile[T] {
	p := &pile[T]{isOne: isFirst}
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
	for _, one := range items {
		if p.isOne(one) {
			p.first = append(p.first, one)
		} else {
			p.items = append(p.items, one)
		}
	}
	p.more.Signal()
	return true
}

// putBack returns what was taken to the end of the pile, also of one that is closed.
func (p *pile[T]) putBack(items []T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.items = append(p.items, items...)
	p.more.Signal()
}

// take waits for items and returns at most n of them, the oldest first: of those that go first if there are any,
// else of the others. After close it empties the pile and then reports false.
func (p *pile[T]) take(n int) ([]T, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.items)+len(p.first) == 0 && !p.closed {
		p.more.Wait()
	}
	from := &p.first
	if len(p.first) == 0 {
		from = &p.items
	}
	n = min(n, len(*from))
	if n == 0 {
		return nil, false
	}
	taken := (*from)[:n:n]
	*from = (*from)[n:]
	if len(p.items)+len(p.first) > 0 {
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
	p.closed, p.items, p.first = true, nil, nil
	p.more.Broadcast()
}
