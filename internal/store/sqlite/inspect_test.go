package sqlite_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/store/sqlite"
)

// killed is a store as a process leaves it that was killed: its newest value is in the log alone.
func killed(t *testing.T) string {
	t.Helper()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "einmal.db")
	s, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetMeta(ctx, "one", "in the log"); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(t.TempDir(), "einmal.db")
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		if err == nil {
			err = os.WriteFile(left+suffix, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return left
}

// What a killed process left is looked at without a trace, and said not to be all.
func TestInspectLeavesAKilledStoreAsItIs(t *testing.T) {
	path := killed(t)
	before := listing(t, path)
	seen, err := sqlite.Inspect(t.Context(), path, false)
	if err != nil || !seen.LogLeft || seen.Meta["one"] != "" || seen.Known == 0 {
		t.Errorf("%+v %v", seen, err)
	}
	if after := listing(t, path); after != before {
		t.Errorf("before %s, after %s", before, after)
	}
}

func listing(t *testing.T, path string) (all string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(path), e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all += e.Name() + ":" + string(b[:min(len(b), 100)])
	}
	return all
}

// A copy has what is in the log of a killed process, too, and needs none itself.
func TestBackupOfAKilledStore(t *testing.T) {
	path := killed(t)
	to := filepath.Join(t.TempDir(), "copy.db")
	if err := sqlite.Backup(t.Context(), path, to); err != nil {
		t.Fatal(err)
	}
	seen, err := sqlite.Inspect(t.Context(), to, false)
	if err != nil || seen.LogLeft || seen.Meta["one"] != "in the log" {
		t.Errorf("%+v %v", seen, err)
	}
	if err := sqlite.Backup(t.Context(), path, to); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("a file is written over: %v", err)
	}
}

// What cannot be copied leaves nothing behind.
func TestBackupThatFails(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "einmal.db")
	if err := os.WriteFile(broken, []byte(strings.Repeat("no store ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, path := range map[string]string{"broken": broken, "none": filepath.Join(folder, "none.db")} {
		if err := sqlite.Backup(t.Context(), path, filepath.Join(folder, "copy.db")); err == nil {
			t.Errorf("%s: a copy was made", name)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v %v", entries, err)
	}
	if _, err := sqlite.Inspect(t.Context(), filepath.Join(folder, "none.db"), false); !os.IsNotExist(err) && err != fs.ErrNotExist {
		t.Error(err)
	}
}
