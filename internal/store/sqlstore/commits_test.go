package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// fixedMark is a mark that nobody reads again.
type fixedMark struct{ own *store.Mark }

func (m fixedMark) Marks() (*store.Mark, []store.Mark, error) { return m.own, nil, nil }
func (m fixedMark) Put(store.Mark) error                      { return nil }

// watchedStore is a store on an embedded database, and another way into that.
func watchedStore(t *testing.T) (*Store, *sql.DB) {
	t.Helper()
	path := "file:" + filepath.Join(t.TempDir(), "einmal.db") + "?_pragma=busy_timeout(3000)&_pragma=journal_mode(wal)"
	open := func() *sql.DB {
		db, err := sql.Open("sqlite", path+"&_txlock=immediate")
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	writer, beside := open(), open()
	if _, err := Migrate(t.Context(), writer, SQLite, sqliteFiles); err != nil {
		t.Fatal(err)
	}
	conn, err := writer.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{
		Dialect: &Dialect{Name: "sqlite", Classify: func(error) Class { return Defect }}, Writer: NewSingleWriter(conn),
		Reader: beside, Clock: clock.System{}, Close: func() error { return errors.Join(beside.Close(), writer.Close()) },
	})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.Watch(t.Context(), fixedMark{}); err != nil {
		t.Fatal(err)
	}
	return s, beside
}

// A store that jumps back while this node works on it is noticed by the next transaction, whoever makes it, and held
// before any other is committed.
//
// covers: D20, I19
func TestJumpWhileRunning(t *testing.T) {
	for name, jump := range map[string]string{
		"lower":       `update commit_number set n = 2`,
		"missing":     `delete from commit_number`,
		"another one": `update incarnation set id = randomblob(16)`,
	} {
		t.Run(name, func(t *testing.T) {
			s, beside := watchedStore(t)
			for range 5 {
				s.pulse(t.Context())
			}
			if s.Held() {
				t.Fatal("it is held from the beginning")
			}
			if _, err := beside.Exec(jump); err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			for range 40 {
				all.Go(func() {
					err := s.once(context.Background(), func(x *tx) error {
						x.changed = true
						if !x.held && !x.noticing {
							_, err := x.e.ExecContext(x.ctx, `insert into meta (name, value) values (hex(randomblob(8)), 'unaware')`)
							return err
						}
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			var unaware int
			if err := beside.QueryRow(`select count(*) from meta where value = 'unaware'`).Scan(&unaware); err != nil || unaware != 0 {
				t.Errorf("%d transactions were committed as if nothing had happened: %v", unaware, err)
			}
			if i, err := s.Incarnation(t.Context()); err != nil || !i.Held() || i.Why == "" || !s.Held() {
				t.Errorf("the incarnation is %+v: %v", i, err)
			}
		})
	}
}

// A transaction that fails, and one that changes nothing, have no number.
//
// covers: D20
func TestNumbersOfWhatIsCommitted(t *testing.T) {
	s, beside := watchedStore(t)
	count := func() (n int) {
		t.Helper()
		if err := beside.QueryRow(`select coalesce(sum(n), 0) from commit_number`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	gone := errors.New("gone")
	_ = s.once(t.Context(), func(x *tx) error { x.changed = true; return gone })
	if err := s.once(t.Context(), func(*tx) error { return nil }); err != nil || count() != before {
		t.Errorf("from %d to %d: %v", before, count(), err)
	}
	if _, err := s.EnsureMeta(t.Context(), "a", "1"); err != nil || count() != before+1 {
		t.Errorf("from %d to %d: %v", before, count(), err)
	}
	if _, err := s.EnsureMeta(t.Context(), "a", "2"); err != nil || count() != before+1 {
		t.Errorf("a value that was there already: from %d to %d: %v", before, count(), err)
	}
}

// What a statement sees of this node's writers is compared with what was acknowledged before it, each by each.
//
// covers: D20
func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		acked, have []int64
		writer      int
		behind      bool
	}{
		"raised by one":                    {[]int64{4, 7}, []int64{5, 7}, 0, false},
		"others were faster":               {[]int64{4, 7}, []int64{5, 9}, 0, false},
		"an answer was lost":               {[]int64{4, 7}, []int64{6, 7}, 0, false},
		"the own one is behind":            {[]int64{4, 7}, []int64{4, 7}, 0, true},
		"another one is behind":            {[]int64{4, 7}, []int64{5, 6}, 0, true},
		"another one is missing":           {[]int64{4, 7}, []int64{5}, 0, true},
		"one behind is not made up for":    {[]int64{4, 7, 7}, []int64{5, 6, 9}, 0, true},
		"a new writer":                     {[]int64{4, 0}, []int64{4, 1}, 1, false},
		"more writers than were ever used": {[]int64{4}, []int64{5, 3}, 0, false},
	} {
		k := commit{writer: c.writer, acked: c.acked, numbers: c.have}
		if got := k.compare() != ""; got != c.behind {
			t.Errorf("%s: behind %v", name, got)
		}
	}
	if got := numbersFrom("2:7,0:11"); !slices.Equal(got, []int64{11, 0, 7}) {
		t.Errorf("read %v", got)
	}
	if got := numbersFrom(""); len(got) != 0 {
		t.Errorf("of nothing %v", got)
	}
}

// While one transaction has met the release, others may still come back from before it: they take nothing back.
//
// covers: D20
func TestAcknowledgeInAnyOrder(t *testing.T) {
	x, y := ident.NewIncarnation(), ident.NewIncarnation()
	c := &commits{node: ident.NewNode(), current: x, held: true, acked: []int64{50, 60}}
	c.acknowledge(&commit{writer: 0, known: x, current: y, numbers: []int64{12, 9}})
	c.acknowledge(&commit{writer: 1, known: x, current: x, held: true, numbers: []int64{50, 61}})
	c.acknowledge(&commit{writer: 1, known: y, current: y, numbers: []int64{12, 10}})
	c.acknowledge(nil)
	if c.current != y || c.held || !slices.Equal(c.acked, []int64{12, 10}) {
		t.Errorf("it is at %v of %s, held %v", c.acked, c.current, c.held)
	}
}
