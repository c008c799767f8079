package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/ground/ident"
)

// commits numbers this node's write transactions, so that a store that went back in time is noticed (D20). Each
// writer, that is each connection that writes, has a number of its own and raises it as the last thing of every
// transaction that changes something: no writer waits for another one. What was acknowledged is remembered here
// and, by Watch, beside the store. A store that has less than that has lost what it acknowledged.
type commits struct {
	mu      sync.Mutex
	node    ident.Node // none: Watch was not called, and nothing is numbered
	current ident.Incarnation
	held    bool
	acked   []int64 // by writer
	free    []int   // writers that are not in use
	last    time.Time
}

// commit is what a transaction learned when it raised its writer's number.
type commit struct {
	writer int
	known  ident.Incarnation // before
	acked  []int64           // before, as long as the transaction was under way

	current ident.Incarnation
	held    bool
	numbers []int64 // of all writers of this node, the raised one included
	behind  string  // why the store cannot be the one that acknowledged all that; empty: it can
}

// take gives a writer's number to a transaction.
func (c *commits) take() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.free); n > 0 {
		w := c.free[n-1]
		c.free = c.free[:n-1]
		return w
	}
	c.acked = append(c.acked, 0)
	return len(c.acked) - 1
}

func (c *commits) give(w int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, w)
}

func (c *commits) isHeld() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

func (c *commits) setHeld(held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = held
}

// begin takes down what was acknowledged before the number is raised. What is acknowledged later may be missing in
// what the statement sees.
func (c *commits) begin(writer int) (*commit, ident.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.acked) <= writer { // the only writer of an engine that has one is not taken
		c.acked = append(c.acked, 0)
	}
	return &commit{writer: writer, known: c.current, acked: slices.Clone(c.acked)}, c.node
}

// acknowledge remembers a transaction that the store has committed.
func (c *commits) acknowledge(k *commit) {
	if k == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = time.Now()
	switch {
	case k.behind != "", k.current != k.known && k.known == c.current:
		// Noticed and held, or released: from here on, what the store has counts.
		c.adopt(k.current, k.numbers)
	case k.current != c.current:
		return // another transaction has met a newer incarnation meanwhile
	default:
		c.acked[k.writer] = max(c.acked[k.writer], k.numbers[k.writer])
	}
	c.held = k.held
}

func (c *commits) adopt(current ident.Incarnation, numbers []int64) {
	c.current = current
	for len(c.acked) < len(numbers) {
		c.free = append(c.free, len(c.acked))
		c.acked = append(c.acked, 0)
	}
	clear(c.acked)
	copy(c.acked, numbers)
}

// compare says why the store cannot be the one that acknowledged what this node knows.
func (k *commit) compare() string {
	for w, acked := range k.acked {
		have := numberOf(k.numbers, w)
		if w == k.writer {
			have-- // as it was before it was raised
		}
		if have < acked {
			return behindWords(acked, have)
		}
	}
	return ""
}

func numberOf(numbers []int64, writer int) int64 {
	if writer >= len(numbers) {
		return 0
	}
	return numbers[writer]
}

func behindWords(acked, have int64) string {
	return "it had acknowledged transaction " + strconv.FormatInt(acked, 10) + " of a writer and knows of " + strconv.FormatInt(have, 10)
}

const otherPast = "it is another one than the one this gateway worked with, or a copy from before its last release"

var (
	raiseCommit = define(`insert into commit_number (node, writer, n) select {1}, {2}, 1 where true
		on conflict (node, writer) do update set n = commit_number.n + 1
		returning n,
			(select string_agg(cast(c.writer as text) || ':' || cast(c.n as text), ',') from commit_number c where c.node = {1}),
			(select incarnation.id from incarnation where incarnation.n = (select max(incarnation.n) from incarnation)),
			(select incarnation.held_at from incarnation where incarnation.n = (select max(incarnation.n) from incarnation))`)
	isPast = define(`select incarnation.n from incarnation where incarnation.n > 0 and incarnation.id = {1}`)
)

// behindError says that the store went back in time.
type behindError struct{ why string }

func (b *behindError) Error() string { return "the store went back in time: " + b.why }

// errHeldChanged says that the transaction went by a hold that is over, or did not know of one.
var errHeldChanged = errors.New("whether traffic waits has changed")

// number raises the writer's number, as the last thing of a transaction that changes something. A transaction whose
// store is behind, or is held where it did not know, is not to be committed.
func (t *tx) number(writer int) error {
	if !t.changed && !t.noticing {
		return nil
	}
	k, node := t.s.commits.begin(writer)
	if node.IsZero() {
		return nil
	}
	if err := t.raise(k, node); err != nil {
		return err
	}
	switch {
	case k.behind != "" && !t.noticing:
		return &behindError{k.behind}
	case k.held != t.held && !t.shifting:
		t.s.commits.setHeld(k.held)
		return errHeldChanged
	}
	t.commit = k
	return nil
}

func (t *tx) raise(k *commit, node ident.Node) error {
	var (
		n, heldAt int64
		all       sql.NullString // none: the statement does not see its own row
		id        []byte
	)
	err := t.row(t.ctx, raiseCommit, nil, scan1(&n, &all, &id, &heldAt), node, k.writer)
	if err != nil {
		return err
	}
	k.current, k.held, k.numbers = ident.Incarnation(keyFrom(id)), heldAt > 0, numbersFrom(all.String)
	for len(k.numbers) <= k.writer {
		k.numbers = append(k.numbers, 0)
	}
	k.numbers[k.writer] = n
	if k.current == k.known {
		k.behind = k.compare()
		return nil
	}
	past, err := t.isPast(t.ctx, k.known)
	if err == nil && !past {
		k.behind = otherPast
	}
	return err
}

// isPast reports whether the store has lived through an incarnation.
func (t *tx) isPast(ctx context.Context, id ident.Incarnation) (bool, error) {
	var n int64
	err := t.row(ctx, isPast, nil, scan1(&n), id)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// numbersFrom reads writer:number pairs.
func numbersFrom(list string) []int64 {
	var numbers []int64
	for pair := range strings.SplitSeq(list, ",") {
		w, n, _ := strings.Cut(pair, ":")
		writer, err := strconv.Atoi(w)
		if err != nil || writer < 0 {
			continue // the list is empty
		}
		for len(numbers) <= writer {
			numbers = append(numbers, 0)
		}
		numbers[writer], _ = strconv.ParseInt(n, 10, 64) // the statement wrote it
	}
	return numbers
}
