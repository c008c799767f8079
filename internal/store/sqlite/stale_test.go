package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/sqlite"
)

// memory is a mark in memory.
type memory struct {
	mu  sync.Mutex
	own *store.Mark
}

func (m *memory) Marks() (*store.Mark, []store.Mark, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.own, nil, nil
}

func (m *memory) Put(mark store.Mark) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.own = &mark
	return nil
}

// moment is what lies on the disk at some time in the life of a store.
type moment struct {
	after     string // which step
	file, log []byte
	value     string // what was acknowledged last
}

// life is a store whose files are taken down after each step.
type life struct {
	*testing.T
	path    string
	store   store.Store
	beside  *sql.DB
	written int
	mark    memory
	moments []moment
}

func (l *life) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l *life) open() {
	l.Helper()
	s, err := sqlite.Open(context.Background(), sqlite.Options{Path: l.path})
	l.must(err)
	_, err = s.Watch(context.Background(), &l.mark)
	l.must(err)
	l.store = s
}

func (l *life) value() string { return fmt.Sprint("value ", l.written) }

func (l *life) write() {
	l.Helper()
	l.written++
	l.must(l.store.SetMeta(l.Context(), "test", l.value()))
}

func (l *life) exec(statement string) {
	l.Helper()
	_, err := l.beside.Exec(statement)
	l.must(err)
}

// underReader checkpoints what a reader does not keep.
func (l *life) underReader() {
	l.Helper()
	l.write()
	reading, err := l.beside.Begin()
	l.must(err)
	var n int
	l.must(reading.QueryRow("select count(*) from meta").Scan(&n))
	l.write()
	db, err := sql.Open("sqlite", l.path)
	l.must(err)
	_, err = db.Exec("pragma wal_checkpoint(passive)")
	l.must(err)
	l.snapshot("a checkpoint beside a reader")
	l.write()
	l.must(reading.Rollback())
	l.must(db.Close())
}

func (l *life) snapshot(after string) {
	l.Helper()
	file, log := read(l.T, l.path), read(l.T, l.path+"-wal")
	l.moments = append(l.moments, moment{after, file, log, l.value()})
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return b
}

// live runs a store through everything that moves pages between its files.
func live(t *testing.T) *life {
	t.Helper()
	l := &life{T: t, path: filepath.Join(t.TempDir(), "einmal.db")}
	l.open()
	db, err := sql.Open("sqlite", l.path+"?_pragma=busy_timeout(5000)")
	l.must(err)
	l.beside = db
	t.Cleanup(func() { _ = db.Close() })
	for i, step := range []struct {
		name string
		do   func()
	}{
		{"the schema", func() {}},
		{"the first writes", func() { l.write(); l.write() }},
		{"a checkpoint", func() { l.exec("pragma wal_checkpoint(passive)") }},
		{"a log that begins anew", l.write},
		{"more of it", l.write},
		{"a reader", l.underReader},
		{"a full checkpoint", func() { l.exec("pragma wal_checkpoint(restart)") }},
		{"another log", func() { l.write(); l.write() }},
		{"an emptied log", func() { l.exec("pragma wal_checkpoint(truncate)") }},
		{"a third log", l.write},
		{"a new layout", func() { l.exec("create index moved on meta (value)"); l.exec("drop index moved"); l.exec("vacuum") }},
		{"a write over it", l.write},
		{"its checkpoint", func() { l.exec("pragma wal_checkpoint(passive)") }},
		{"a log after it", l.write},
		{"a stop", func() { l.must(l.beside.Close()); l.must(l.store.Close()) }},
		{"a start", func() { l.open(); l.write() }},
	} {
		step.do()
		l.snapshot(fmt.Sprint(i, " ", step.name))
	}
	l.must(l.store.Close())
	return l
}

// opened puts files in place and opens them.
func opened(t *testing.T, file, log []byte) (path string, s store.Store, err error) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "einmal.db")
	for name, b := range map[string][]byte{path: file, path + "-wal": log} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err = sqlite.Open(context.Background(), sqlite.Options{Path: path})
	if err != nil {
		return path, nil, err
	}
	t.Cleanup(func() { _ = s.Close() })
	return path, s, nil
}

// A kill at any moment, in the middle of a checkpoint as well, leaves files that belong together.
//
// covers: I19
func TestKillNeverLooksLikeAForeignLog(t *testing.T) {
	const page, stride = 4096, 5
	l := live(t)
	for i, m := range l.moments {
		files := [][]byte{m.file}
		if i+1 < len(l.moments) {
			next := l.moments[i+1].file // and what a checkpoint has written of it so far
			for n := page; n < len(next) && !bytes.Equal(next, m.file); n += stride * page {
				files = append(files, slices.Concat(next[:n], m.file[min(n, len(m.file)):]))
			}
		}
		for k, file := range files {
			_, s, err := opened(t, file, m.log)
			if err != nil {
				t.Fatalf("after %s, %d: %v", m.after, k, err)
			}
			got, err := s.Meta(t.Context(), "test")
			if err != nil || got != m.value && i > 0 {
				t.Errorf("after %s, %d: %q instead of %q: %v", m.after, k, got, m.value, err)
			}
		}
		if i == 0 || !bytes.Equal(m.file, l.moments[i-1].file) || bytes.Equal(m.log, l.moments[i-1].log) {
			continue
		}
		const torn = 100
		if _, _, err := opened(t, m.file, m.log[:len(m.log)-torn]); err != nil { // its last write, of which nothing is in the file
			t.Errorf("after %s, with a torn log: %v", m.after, err)
		}
	}
}

// An older copy under the log of a gateway that was killed is refused, and left as it is: opened, the two would be
// merged for good, and say that they are the newest store. Without the log the copy is noticed by the mark.
//
// covers: D20, I19
func TestCopyUnderALogOfLater(t *testing.T) {
	l := live(t)
	// A copy from before the first number does not know the node, and after an operator's vacuum not the page either.
	numbered, layout := l.moment("a checkpoint"), l.moment("a new layout")
	refused := 0
	for i, older := range l.moments {
		for k := i + 1; k < len(l.moments); k++ {
			newer := l.moments[k]
			if len(newer.log) == 0 || l.belongs(older.file, k) || i < numbered && k > layout {
				continue
			}
			refused++
			path, _, err := opened(t, older.file, newer.log)
			if err == nil || !strings.Contains(err.Error(), "-wal") {
				t.Errorf("the copy after %s under the log after %s: %v", older.after, newer.after, err)
			} else if !bytes.Equal(read(t, path), older.file) || !bytes.Equal(read(t, path+"-wal"), newer.log) {
				t.Errorf("the copy after %s was changed", older.after)
			}
		}
	}
	if refused < 20 {
		t.Errorf("%d mixtures are no test", refused)
	}
	_, s, err := opened(t, l.moments[numbered].file, nil)
	l.must(err)
	if w, err := s.Watch(t.Context(), &memory{own: l.mark.own}); err != nil || !w.Held() {
		t.Errorf("the copy alone: %+v, %v", w, err)
	}
}

// moment finds a step's.
func (l *life) moment(name string) int {
	return slices.IndexFunc(l.moments, func(m moment) bool { return strings.HasSuffix(m.after, " "+name) })
}

// belongs reports whether the log of a moment can lie over a file: it holds everything that the file has not, from
// where it began.
func (l *life) belongs(file []byte, k int) bool {
	const salts, end = 16, 24
	generation := l.moments[k].log[salts:end]
	for ; k >= 0; k-- {
		if bytes.Equal(l.moments[k].file, file) {
			return true
		}
		if log := l.moments[k].log; len(log) < end || !bytes.Equal(log[salts:end], generation) {
			return false // the file that it began on was compared, too
		}
	}
	return false
}

// A copy that the engine has made anew has its pages elsewhere.
//
// covers: D20
func TestVacuumedCopyUnderALogOfLater(t *testing.T) {
	l := &life{T: t, path: filepath.Join(t.TempDir(), "einmal.db")}
	l.open()
	l.write()
	db, err := sql.Open("sqlite", l.path)
	l.must(err)
	backup := filepath.Join(t.TempDir(), "backup.db")
	_, err = db.Exec("vacuum into ?", backup)
	l.must(err)
	l.must(db.Close())
	l.write()
	l.must(l.store.Close())
	l.open()
	l.write()
	log := read(t, l.path+"-wal")
	l.must(l.store.Close())
	if _, _, err := opened(t, read(t, backup), log); err == nil || !strings.Contains(err.Error(), "-wal") {
		t.Errorf("it is opened: %v", err)
	}
}

// A file that cannot be read says where it may come from.
func TestDamagedFileSaysWhatMayBe(t *testing.T) {
	const page = 4096
	l := live(t)
	file := slices.Clone(l.moments[len(l.moments)-1].file)
	clear(file[page:])
	for name, b := range map[string][]byte{"pages": file, "no store": bytes.Repeat([]byte("no store "), page)} {
		if _, _, err := opened(t, b, nil); err == nil || !strings.Contains(err.Error(), "-wal") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
