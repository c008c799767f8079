package secret

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Names of the key files. Each has 64 hexadecimal digits and a line's end.
const (
	IdentityFile = "identity.key"
	SealingFile  = "sealing.key"
)

// Folder is the keys of a folder.
type Folder struct {
	Identity [KeySize]byte
	Sealing  [KeySize]byte
}

// OpenFolder reads both keys, and makes the folder and the files that are missing. It refuses a folder or a
// file that others may read, and an identity key that is missing beside a sealing key: that is a copy which
// lost a file, since the identity key is made first. Errors say what to do.
func OpenFolder(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of keys: %w", err)
	}
	if err := private(dir, "700"); err != nil {
		return nil, err
	}
	if exists(dir, SealingFile) && !exists(dir, IdentityFile) {
		return nil, fmt.Errorf("%s has %s and no %s: bring that file back from where you keep a copy of the folder",
			dir, SealingFile, IdentityFile)
	}
	f := &Folder{}
	var err error
	if f.Identity, err = openKey(dir, IdentityFile); err != nil {
		return nil, err
	}
	f.Sealing, err = openKey(dir, SealingFile)
	return f, err
}

// Missing lists the files of a folder that OpenFolder would make.
func Missing(dir string) []string {
	var names []string
	for _, name := range []string{IdentityFile, SealingFile} {
		if !exists(dir, name) {
			names = append(names, name)
		}
	}
	return names
}

func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return !errors.Is(err, fs.ErrNotExist)
}

func private(path, mode string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s may be read by others: run  chmod %s %s", path, mode, quote(path))
	}
	return nil
}

// quote makes a path safe to paste into a shell.
func quote(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

func openKey(dir, name string) (key [KeySize]byte, err error) {
	path := filepath.Join(dir, name)
	if !exists(dir, name) {
		if err := makeKey(dir, name); err != nil {
			return key, fmt.Errorf("make %s: %w", path, err)
		}
	}
	if err := private(path, "600"); err != nil {
		return key, err
	}
	text, err := os.ReadFile(path) // the operator's own folder
	if err != nil {
		return key, err
	}
	raw, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(raw) != KeySize {
		return key, fmt.Errorf("%s is damaged: it has to hold %d hexadecimal digits; bring it back from a copy", path, 2*KeySize)
	}
	return [KeySize]byte(raw), nil
}

// makeKey writes a new key so that the file is there whole or not at all, and never takes the place of one that
// another process made meanwhile: hence a link, which fails where a rename would overwrite.
func makeKey(dir, name string) error {
	var key [KeySize]byte
	rand.Read(key[:])                             // never fails
	tmp, err := os.CreateTemp(dir, "."+name+"-*") // made with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // a leftover has no effect
	_, err = fmt.Fprintln(tmp, hex.EncodeToString(key[:]))
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(dir)
}

// syncDir makes the new name durable: a key that is gone after a power cut takes everything sealed with it.
func syncDir(dir string) error {
	d, err := os.Open(dir) // the operator's own folder
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
