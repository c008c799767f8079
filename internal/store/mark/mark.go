// Package mark keeps a node's mark (store.Mark) in a file beside the store: somewhere that a backup of the store does
// not copy, and that no restore of it puts back.
//
// The file has two halves of a fixed size that are written in turn, each whole in itself and with a checksum: a node
// that is killed while it writes one leaves the other. The second one is written first: as long as the first is
// empty, nothing was ever whole. A half is a line of JSON, for people too.
package mark

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Suffix is what marks' names end with.
const Suffix = ".mark"

const (
	half    = 4096 // bytes: enough for the numbers of 150 writers
	version = 1
)

// record is what a half holds.
type record struct {
	Version      int               `json:"einmal_mark"`
	Seq          uint64            `json:"seq"`          // the half with the larger one counts
	Installation string            `json:"installation"` // whose store it is
	Node         ident.Node        `json:"node"`
	Incarnation  ident.Incarnation `json:"incarnation"`
	Numbers      []int64           `json:"numbers"`
	At           time.Time         `json:"at"` // for people
}

// File is an open mark. It implements store.Marker.
type File struct {
	installation string
	mu           sync.Mutex
	f            *os.File
	last         record
	half         int  // which one holds the last record
	found        bool // there was a mark of this installation
}

// Open opens the mark of a node, and makes the file if there is none. It is this process's alone until Close. The mark
// of another installation is replaced at the first Put.
func Open(path, installation string) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("the folder of the mark %s cannot be made: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the mark %s cannot be used: %w", path, err)
	}
	m := &File{installation: installation, f: f}
	if err = m.lock(); err == nil {
		err = m.load()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the mark %s %w", path, err), f.Close())
	}
	return m, nil
}

func (m *File) lock() error {
	err := syscall.Flock(int(m.f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errors.New("is used by another process: each node has a mark of its own, name another file with --mark")
	}
	return err
}

func (m *File) load() error {
	last, half, err := read(m.f)
	m.half = half
	switch {
	case err != nil:
		return err
	case last.Installation == m.installation:
		m.last, m.found = last, true
	default:
		m.last = record{Seq: last.Seq}
	}
	return nil
}

// errDamaged says that there was a mark, and that it cannot be read any more.
var errDamaged = errors.New("is damaged: remove the file, and if its store went back in time, run  einmal restored --offline --declare  before anything else")

// read returns the newer half and which one that is; an empty record if no mark was ever whole.
func read(f io.ReaderAt) (newest record, which int, err error) {
	raw := make([]byte, 2*half)
	if _, err := f.ReadAt(raw, 0); err != nil && !errors.Is(err, io.EOF) {
		return record{}, 0, err
	}
	for i := range 2 {
		if r, ok := decode(raw[i*half : (i+1)*half]); ok && r.Seq >= newest.Seq {
			newest, which = r, i
		}
	}
	switch begun := len(bytes.TrimLeft(raw[:half], "\x00")) > 0; {
	case newest.Version == 0 && begun:
		return newest, 0, errDamaged
	case newest.Version > version:
		return newest, 0, fmt.Errorf("is of version %d, and this release knows version %d: start a newer release", newest.Version, version)
	}
	return newest, which, nil
}

// decode reads a half: a checksum, a space, the line.
func decode(b []byte) (record, bool) {
	var r record
	line, _, _ := strings.Cut(string(b), "\n")
	sum, text, ok := strings.Cut(line, " ")
	if !ok || sum != checksum([]byte(text)) || json.Unmarshal([]byte(text), &r) != nil {
		return record{}, false
	}
	return r, r.Version > 0
}

func checksum(b []byte) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE(b)) }

// Put implements store.Marker.
func (m *File) Put(mark store.Mark) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := record{
		Version: version, Seq: m.last.Seq + 1, Installation: m.installation, Node: mark.Node, Incarnation: mark.Incarnation,
		Numbers: mark.Numbers, At: time.Now().UTC(),
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	b := make([]byte, half)
	if n := copy(b, checksum(text)+" "+string(text)+"\n"); n == half {
		return fmt.Errorf("a mark of %d writers does not fit", len(mark.Numbers))
	}
	other := 1 - m.half // than the last one
	if _, err := m.f.WriteAt(b, int64(other)*half); err != nil {
		return err
	}
	if err := m.f.Sync(); err != nil {
		return err
	}
	m.last, m.half, m.found = r, other, true
	return nil
}

// Marks implements store.Marker. Other nodes' marks are the other files of the folder whose names end with .mark and
// that are of the same installation; one that cannot be read says nothing.
func (m *File) Marks() (own *store.Mark, others []store.Mark, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.found {
		mark := m.last.mark()
		own = &mark
	}
	folder := filepath.Dir(m.f.Name())
	all, err := os.ReadDir(folder)
	for _, entry := range all {
		if !strings.HasSuffix(entry.Name(), Suffix) {
			continue
		}
		r, unread := readFile(filepath.Join(folder, entry.Name()))
		if unread == nil && r.Installation == m.installation && r.Node != m.last.Node {
			others = append(others, r.mark())
		}
	}
	return own, others, err
}

func readFile(path string) (record, error) {
	f, err := os.Open(path) // in the folder of our own
	if err != nil {
		return record{}, err
	}
	r, _, err := read(f)
	return r, errors.Join(err, f.Close())
}

func (r *record) mark() store.Mark {
	return store.Mark{Node: r.Node, Incarnation: r.Incarnation, Numbers: r.Numbers}
}

// Close gives the mark up.
func (m *File) Close() error { return m.f.Close() }

// Seen is what a mark says to whoever only looks at it.
type Seen struct {
	Installation string
	At           time.Time // of the last commit that it follows
}

// Look reads a mark without taking it: its node may be at work.
func Look(path string) (Seen, error) {
	r, err := readFile(path)
	return Seen{r.Installation, r.At}, err
}
