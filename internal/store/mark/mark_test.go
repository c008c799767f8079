package mark

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

func open(t *testing.T, path string) *File {
	t.Helper()
	m, err := Open(path, "ours")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func closed(t *testing.T, m *File) {
	t.Helper()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, m *File, mark store.Mark) {
	t.Helper()
	if err := m.Put(mark); err != nil {
		t.Fatal(err)
	}
}

func some(n ...int64) store.Mark {
	return store.Mark{Node: ident.NewNode(), Incarnation: ident.NewIncarnation(), Numbers: n}
}

// covers: D20
func TestMarkComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b.mark")
	m := open(t, path)
	if own, others, err := m.Marks(); own != nil || len(others) != 0 || err != nil {
		t.Fatalf("a new file holds %v, %v: %v", own, others, err)
	}
	want := some(3, 0, 9)
	for n := range int64(5) {
		want.Numbers[0] = 3 + n
		put(t, m, want)
	}
	if _, err := Open(path, "ours"); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("two processes have one mark: %v", err)
	}
	closed(t, m)
	m = open(t, path)
	defer closed(t, m)
	if own, _, err := m.Marks(); err != nil || !reflect.DeepEqual(*own, want) {
		t.Errorf("it came back as %+v: %v", own, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 2*half {
		t.Errorf("the file is %v: %v", info, err)
	}
}

// A node that is killed while it writes leaves the half that it wrote before.
//
// covers: D20, I19
func TestTornHalf(t *testing.T) {
	dir := t.TempDir()
	want := some(1)
	for name, torn := range map[string]struct {
		puts, half int
		number     int64 // what is left; 0: nothing
	}{
		"the very first": {1, 1, 0}, "the second": {2, 0, 1}, "the third": {3, 1, 2}, "the older one": {3, 0, 3},
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		m := open(t, path)
		for n := range torn.puts {
			want.Numbers = []int64{int64(n + 1)}
			put(t, m, want)
		}
		if _, err := m.f.WriteAt([]byte("torn"), int64(torn.half*half+20)); err != nil {
			t.Fatal(err)
		}
		closed(t, m)
		m = open(t, path)
		own, _, err := m.Marks()
		if err != nil || (own == nil) != (torn.number == 0) || own != nil && own.Numbers[0] != torn.number {
			t.Errorf("%s: it holds %+v: %v", name, own, err)
		}
		put(t, m, want) // and it goes on
		closed(t, m)
	}
}

// What was a mark and is none any more is an error: the node cannot know, and does not pretend to.
//
// covers: D20
func TestDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.mark")
	for name, c := range map[string]struct{ content, want string }{
		"garbage":       {strings.Repeat("garbage ", half/4), "is damaged"},
		"a word":        {"hello", "is damaged"},
		"its beginning": {line(`{"einmal_mark": 1}`)[:20], "is damaged"},
		"newer release": {line(`{"einmal_mark": 9}`), "start a newer release"},
	} {
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, "ours"); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(filepath.Join(path, "below.mark"), "ours"); err == nil || !strings.Contains(err.Error(), "cannot be made") {
		t.Errorf("below a file: %v", err)
	}
}

func line(text string) string { return checksum([]byte(text)) + " " + text + "\n" }

// Other nodes' marks are seen where they are in the same folder and of the same installation. The mark of another
// installation is none of ours: a data folder that was thrown away and made anew begins at the beginning.
//
// covers: D20
func TestNeighbours(t *testing.T) {
	dir := t.TempDir()
	theirs, stranger := some(7), some(8)
	a := open(t, filepath.Join(dir, "a.mark"))
	put(t, a, theirs)
	b, err := Open(filepath.Join(dir, "b.mark"), "another installation")
	if err != nil {
		t.Fatal(err)
	}
	put(t, b, stranger)
	closed(t, b)
	for name, content := range map[string]string{"c.mark": "nothing of the kind", "d.txt": "", "e.mark": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ours := open(t, filepath.Join(dir, "b.mark"))
	defer closed(t, a)
	defer closed(t, ours)
	own, others, err := ours.Marks()
	if err != nil || own != nil || len(others) != 1 || !reflect.DeepEqual(others[0], theirs) {
		t.Errorf("own %+v, others %+v: %v", own, others, err)
	}
	put(t, ours, some(1))
	if own, others, err = ours.Marks(); err != nil || own == nil || len(others) != 1 {
		t.Errorf("own %+v, others %+v: %v", own, others, err)
	}
}

func TestTooManyWriters(t *testing.T) {
	m := open(t, filepath.Join(t.TempDir(), "a.mark"))
	defer closed(t, m)
	put(t, m, some(make([]int64, 150)...))
	if err := m.Put(some(make([]int64, half)...)); err == nil {
		t.Error("a mark that does not fit was written")
	}
}
