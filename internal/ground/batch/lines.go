package batch

// lines are the items that wait, a line for each tenant. Taking one item of each line in turn makes a flood of
// one tenant wait for itself: another tenant's single item is behind one of the flood's at most.
type lines[T, R any] struct {
	byTenant map[uint16]*line[T, R] // a tenant's line stays when it is empty: there are 4096 tenants at most
	turns    []*line[T, R]          // the lines that are not empty
	next     int                    // whose turn it is
	waiting  int
}

// line is a doubly linked list, since items also leave from the middle.
type line[T, R any] struct{ first, last *item[T, R] }

func (l *lines[T, R]) push(tenant uint16, it *item[T, R]) {
	ln := l.byTenant[tenant]
	if ln == nil {
		ln = &line[T, R]{}
		l.byTenant[tenant] = ln
	}
	if ln.first == nil {
		ln.first = it
		l.turns = append(l.turns, ln)
	} else {
		ln.last.next, it.prev = it, ln.last
	}
	ln.last = it
	l.waiting++
}

// pop takes the first item of the line whose turn it is. Something must be waiting.
func (l *lines[T, R]) pop() *item[T, R] {
	if l.next >= len(l.turns) {
		l.next = 0
	}
	ln := l.turns[l.next]
	it := ln.first
	ln.unlink(it)
	l.waiting--
	if ln.first == nil {
		l.end(l.next)
	} else {
		l.next++
	}
	return it
}

func (l *lines[T, R]) remove(tenant uint16, it *item[T, R]) {
	ln := l.byTenant[tenant]
	ln.unlink(it)
	l.waiting--
	if ln.first != nil {
		return
	}
	for i := range l.turns {
		if l.turns[i] == ln {
			l.end(i)
			return
		}
	}
}

// end takes an empty line out of the turns, without passing over the one behind it.
func (l *lines[T, R]) end(i int) {
	last := len(l.turns) - 1
	copy(l.turns[i:], l.turns[i+1:])
	l.turns[last] = nil
	l.turns = l.turns[:last]
	if i < l.next {
		l.next--
	}
}

func (ln *line[T, R]) unlink(it *item[T, R]) {
	if it.prev == nil {
		ln.first = it.next
	} else {
		it.prev.next = it.next
	}
	if it.next == nil {
		ln.last = it.prev
	} else {
		it.next.prev = it.prev
	}
	it.prev, it.next = nil, nil
}
