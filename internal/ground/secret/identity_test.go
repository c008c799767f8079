package secret

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

func sequence() (key [KeySize]byte) {
	for i := range key {
		key[i] = byte(i)
	}
	return key
}

// Hashes are in databases: the same key must give the same ones in every release.
//
// covers: D1, D15
func TestHashesAreStable(t *testing.T) {
	id := NewIdentity(sequence())
	stored := []string{id.Check()}
	for _, h := range [][16]byte{id.Key([]byte("form")), id.HashAPIKey(APIKey{ID: "id", secret: "secret"})} {
		stored = append(stored, hex.EncodeToString(h[:]))
	}
	key := sequence()
	for i, use := range []struct{ label, data string }{{"check value", ""}, {"forms", "form"}, {"api keys", "id_secret"}} {
		m := hmac.New(sha256.New, key[:])
		m.Write([]byte("einmal " + use.label + " 1"))
		want := m.Sum(nil)
		if use.data != "" {
			m = hmac.New(sha256.New, want)
			m.Write([]byte(use.data))
			want = m.Sum(nil)
		}
		if got := hex.EncodeToString(want[:16]); got != stored[i] {
			t.Errorf("%s: %s, want %s", use.label, stored[i], got)
		}
	}
}

func TestAnotherKeyGivesOtherHashes(t *testing.T) {
	one, other := NewIdentity(sequence()), NewIdentity([KeySize]byte{1})
	if one.Check() == other.Check() || one.Key([]byte("x")) == other.Key([]byte("x")) {
		t.Error("two identity keys agree")
	}
}

func TestHashesOfManyAtOnce(t *testing.T) {
	id := NewIdentity(sequence())
	var wg sync.WaitGroup
	for g := range 8 {
		form := bytes.Repeat([]byte{byte(g)}, g*20)
		want := id.Key(form)
		wg.Go(func() {
			for range 500 {
				if id.Key(form) != want {
					t.Error("a hash depends on what is hashed beside it")
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkKey(b *testing.B) {
	id := NewIdentity(sequence())
	form := bytes.Repeat([]byte("x"), 90)
	b.Run("pooled", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			id.Key(form)
		}
	})
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		key := derive(sequence(), "forms")
		for b.Loop() {
			m := hmac.New(sha256.New, key[:])
			m.Write(form)
			m.Sum(nil)
		}
	})
}

func TestAPIKeyRoundTrip(t *testing.T) {
	id := NewIdentity(sequence())
	k := NewAPIKey()
	back, err := ParseAPIKey(k.Text())
	if err != nil || back != k {
		t.Fatalf("read back as %v: %v", back, err)
	}
	stored := id.HashAPIKey(k)
	if !id.MatchAPIKey(back, stored) {
		t.Error("the key does not match its own hash")
	}
	other := NewAPIKey()
	other.ID = k.ID
	if id.MatchAPIKey(other, stored) || NewIdentity([KeySize]byte{1}).MatchAPIKey(k, stored) {
		t.Error("another secret or another identity key matches")
	}
}

// No typing error gets as far as the store.
func TestAMistypedAPIKeyIsNotOne(t *testing.T) {
	text := NewAPIKey().Text()
	for i := range text {
		wrong := []byte(text)
		if wrong[i]++; wrong[i] == '{' {
			wrong[i] = 'a'
		}
		if _, err := ParseAPIKey(string(wrong)); err == nil {
			t.Errorf("a change at %d was not seen", i)
		}
	}
	for _, s := range []string{"", "em_", text + "_", text[:len(text)-1], strings.ToUpper(text), " " + text} {
		if _, err := ParseAPIKey(s); err == nil {
			t.Errorf("%d characters are a key", len(s))
		}
	}
}

// covers: D15
func TestAnAPIKeyMasksItself(t *testing.T) {
	k := NewAPIKey()
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", k)
	for _, printed := range []string{fmt.Sprint(k), fmt.Sprintf("%+v %#v %s", k, k, &k), log.String()} {
		if strings.Contains(printed, k.secret) || !strings.Contains(printed, k.ID) {
			t.Errorf("printed with its secret or without its id: %d characters", len(printed))
		}
	}
}
