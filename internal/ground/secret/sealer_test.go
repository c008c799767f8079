package secret

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/ground/ident"
	"pgregory.net/rapid"
)

// keys is a KeyStore in memory.
type keys struct {
	mu    sync.Mutex
	ids   map[tenantDay]int64
	saved [][]byte
	reads int
}

var errGone = errors.New("no such key")

func (k *keys) EnsureSealingKey(_ context.Context, tenant ident.Partition, day int32, wrapped []byte) (int64, []byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reads++
	td := tenantDay{tenant, day}
	if k.ids == nil {
		k.ids = map[tenantDay]int64{}
	}
	if _, there := k.ids[td]; !there {
		k.saved = append(k.saved, wrapped)
		k.ids[td] = int64(len(k.saved))
	}
	return k.ids[td], k.saved[k.ids[td]-1], nil
}

func (k *keys) SealingKey(_ context.Context, id int64) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reads++
	if id < 1 || id > int64(len(k.saved)) || k.saved[id-1] == nil {
		return nil, errGone
	}
	return k.saved[id-1], nil
}

var (
	bg   = context.Background()
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// covers: D15
func TestSealedContentComesBack(t *testing.T) {
	store := &keys{}
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		aad := rapid.SliceOf(rapid.Byte()).Draw(t, "aad")
		tenant := ident.Partition(rapid.Uint16Range(0, 3).Draw(t, "tenant"))
		at := noon.Add(time.Duration(rapid.IntRange(-72, 72).Draw(t, "hours")) * time.Hour)
		sealed, err := NewSealer(sequence(), store).Seal(bg, tenant, at, aad, plain)
		if err != nil {
			t.Fatal(err)
		}
		key, wrapped := NewSealer(sequence(), store).NewOwnKey()
		own := key.Seal(aad, plain)
		reader := NewSealer(sequence(), store) // another node, or the next start
		for _, c := range []struct{ sealed, own []byte }{{sealed, nil}, {own, wrapped}} {
			back, err := reader.Open(bg, aad, c.sealed, c.own)
			if err != nil || !bytes.Equal(back, plain) {
				t.Fatalf("%v came back as %v: %v", plain, back, err)
			}
			if len(plain) > 8 && bytes.Contains(c.sealed, plain) {
				t.Fatal("sealed content has the clear text in it")
			}
		}
	})
}

// A changed byte, another place or another master key: nothing is opened, and no error has the content.
func TestNothingElseOpens(t *testing.T) {
	const text = "code 314159 for you"
	store := &keys{}
	s := NewSealer(sequence(), store)
	place, elsewhere := Place("text", [16]byte{1}), [][]byte{Place("text", [16]byte{2}), Place("metadata", [16]byte{1}), nil}
	day, err := s.Seal(bg, 1, noon, place, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	key, wrapped := s.NewOwnKey()
	own := key.Seal(place, []byte(text))
	_, another := s.NewOwnKey()
	refuse := func(why string, s *Sealer, aad, sealed, own []byte) {
		t.Helper()
		got, err := s.Open(bg, aad, sealed, own)
		if err == nil || got != nil {
			t.Errorf("%s was opened", why)
		} else if strings.Contains(err.Error(), "314159") {
			t.Errorf("%s: the error has the content", why)
		}
	}
	for _, c := range []struct{ sealed, own []byte }{{day, nil}, {own, wrapped}} {
		for i := range c.sealed {
			refuse("a changed byte", s, place, flipped(c.sealed, i), c.own)
			refuse("a cut form", s, place, c.sealed[:i], c.own)
		}
		for i := range c.own {
			refuse("a changed own key", s, place, c.sealed, flipped(c.own, i))
		}
		for _, aad := range elsewhere {
			refuse("content of another place", s, aad, c.sealed, c.own)
		}
		refuse("content under another master key", NewSealer([KeySize]byte{9}, store), place, c.sealed, c.own)
	}
	refuse("content under another message's own key", s, place, own, another)
	if _, err := s.Open(bg, place, own, nil); !errors.Is(err, ErrNoKey) {
		t.Errorf("content whose own key is destroyed: %v", err)
	}
}

func flipped(b []byte, i int) []byte {
	b = bytes.Clone(b)
	b[i] ^= 1
	return b
}

// Each tenant and each day has a key of its own, and destroying one takes its content alone.
func TestDayKeys(t *testing.T) {
	store := &keys{}
	s := NewSealer(sequence(), store)
	midnight := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	var all [][]byte
	for _, c := range []struct {
		tenant ident.Partition
		at     time.Time
	}{{1, noon}, {2, noon}, {1, midnight}, {1, midnight.Add(-time.Second).In(time.FixedZone("", 7200))}} {
		sealed, err := s.Seal(bg, c.tenant, c.at, nil, []byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sealed)
	}
	if len(store.saved) != 3 || store.reads != 3 {
		t.Fatalf("%d keys, %d look-ups for three tenants' days", len(store.saved), store.reads)
	}
	store.saved[0] = nil
	after := NewSealer(sequence(), store)
	for i, want := range []error{errGone, nil, nil, errGone} {
		if _, err := after.Open(bg, nil, all[i], nil); !errors.Is(err, want) {
			t.Errorf("content %d: %v, want %v", i, err, want)
		}
	}
}

// A store that gives one tenant the key of another is found out before anything is sealed.
func TestADayKeyOfAnotherTenant(t *testing.T) {
	store := &keys{}
	if _, err := NewSealer(sequence(), store).Seal(bg, 1, noon, nil, nil); err != nil {
		t.Fatal(err)
	}
	store.ids[tenantDay{2, dayOf(noon)}] = 1
	if _, err := NewSealer(sequence(), store).Seal(bg, 2, noon, nil, nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("sealed: %v", err)
	}
	if _, err := NewSealer([KeySize]byte{9}, store).Seal(bg, 1, noon, nil, nil); err == nil || !strings.Contains(err.Error(), SealingFile) {
		t.Errorf("another master key: %v", err)
	}
}

func TestUnwrappedKeysAreBounded(t *testing.T) {
	s := NewSealer(sequence(), &keys{})
	for day := range maxDayKeys + 10 {
		s.keep(&dayKey{id: int64(day)}, &tenantDay{1, int32(day)})
	}
	if len(s.byDay) != maxDayKeys || len(s.byID) != maxDayKeys {
		t.Errorf("%d and %d keys are kept", len(s.byDay), len(s.byID))
	}
	if s.byID[maxDayKeys+9] == nil {
		t.Error("the key that came last is not among them")
	}
}

func BenchmarkSeal(b *testing.B) {
	s, text, aad := NewSealer(sequence(), &keys{}), make([]byte, 160), Place("text", [16]byte{1})
	b.Run("day", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Seal(bg, 1, noon, aad, text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			key, _ := s.NewOwnKey()
			key.Seal(aad, text)
		}
	})
}

// What is sealed in the place of content opens in that place, under the same key, and nowhere else.
func TestReseal(t *testing.T) {
	ctx, s := context.Background(), NewSealer(sequence(), &keys{})
	place := Place("receipt", [16]byte{1})
	before, err := s.Seal(ctx, 1, time.Unix(0, 0), place, []byte("code 123456"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := s.Reseal(ctx, place, before, []byte("code ******"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Open(ctx, place, after, nil); err != nil || string(got) != "code ******" {
		t.Errorf("it opens as %q: %v", got, err)
	}
	if _, err := s.Open(ctx, Place("receipt", [16]byte{2}), after, nil); err == nil {
		t.Error("it opens in another place")
	}
}
