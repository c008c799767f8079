package secret

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestAFolderIsMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	made, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := OpenFolder(dir)
	if err != nil || *again != *made {
		t.Errorf("opened again with other keys: %v", err)
	}
	if made.Identity == made.Sealing || made.Identity == [KeySize]byte{} || made.Sealing == [KeySize]byte{} {
		t.Error("the keys are not two random ones")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder has %v: %v", entries, err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, IdentityFile): 0o600, filepath.Join(dir, SealingFile): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v: %v", path, info.Mode(), err)
		}
	}
}

// Nodes that start together on a new folder take the same keys.
func TestAFolderIsMadeByManyAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	got := make([]*Folder, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			var err error
			if got[i], err = OpenFolder(dir); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, f := range got {
		if f != nil && *f != *got[0] {
			t.Error("two of them have different keys")
		}
	}
}

// Whoever runs the gateway is told what to run.
func TestWhatAFolderMustNotBe(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(dir string) error
		want  string
	}{
		"open folder":      {func(dir string) error { return os.Chmod(dir, 0o750) }, "chmod 700 "},
		"open file":        {func(dir string) error { return os.Chmod(filepath.Join(dir, SealingFile), 0o604) }, "chmod 600 "},
		"identity is gone": {func(dir string) error { return os.Remove(filepath.Join(dir, IdentityFile)) }, "bring that file back"},
		"cut short": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, IdentityFile), []byte("00ff\n"), 0o600)
		}, "64 hexadecimal digits"},
		"no key": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, IdentityFile), []byte(strings.Repeat("x", 64)), 0o600)
		}, "64 hexadecimal digits"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "it's keys")
			if _, err := OpenFolder(dir); err != nil {
				t.Fatal(err)
			}
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
			_, err := OpenFolder(dir)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v does not say %q", err, c.want)
			}
		})
	}
}

// A start that was cut off between the two files goes on.
func TestAHalfMadeFolderIsFinished(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, SealingFile)); err != nil {
		t.Fatal(err)
	}
	again, err := OpenFolder(dir)
	if err != nil || again.Identity != f.Identity || again.Sealing == f.Sealing {
		t.Errorf("the second start: %v", err)
	}
}
