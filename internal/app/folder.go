package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// FolderInUse reports whether a gateway works on a data folder.
func FolderInUse(dir string) (bool, error) {
	f, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return false, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) // given back with the file, at once
	used := errors.Is(err, syscall.EWOULDBLOCK)
	if used {
		err = nil
	}
	return used, errors.Join(err, f.Close())
}

// lockFolder makes the data folder and keeps every other process out of it as long as this one lives: two
// writers on one embedded store, or two nodes with one name, would each believe to be alone (X1).
func lockFolder(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the data folder %s cannot be made: %w", dir, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data folder %s cannot be used: %w", dir, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("another process uses the data folder %s: stop it, or give this one a folder of its own with --data", dir), f.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the data folder %s cannot be locked: %w", dir, err), f.Close())
	}
	return f, nil
}
