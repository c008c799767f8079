//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// scratch is the run's temporary folder, and the user whom servers run as.
type scratch struct {
	dir   string
	owner *syscall.Credential // nil: ourselves
	log   io.Writer
}

// newScratch makes a folder that the servers' user can use: in TMPDIR if that works, else in /tmp or /var/tmp.
// A TMPDIR below root's home is the usual reason why it does not.
func newScratch(log io.Writer) (*scratch, error) {
	owner, err := serverUser(os.Geteuid(), user.Lookup)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, parent := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		s, err := makeScratch(parent, owner)
		if err == nil {
			s.log = log
			return s, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("no usable temporary folder: %w", errors.Join(errs...))
}

func makeScratch(parent string, owner *syscall.Credential) (*scratch, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parent, "einmal-testenv-")
	if err != nil {
		return nil, err
	}
	s := &scratch{dir: dir, owner: owner}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// prepare hands the folder to the servers' user and proves that this user can enter it.
func (s *scratch) prepare() error {
	if s.owner != nil {
		if err := os.Chown(s.dir, int(s.owner.Uid), int(s.owner.Gid)); err != nil {
			return err
		}
	}
	cmd := exec.Command("/bin/sh", "-c", ": >probe")
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s cannot be used by the servers' user: %w %s", s.dir, err, out)
	}
	return nil
}

// remove deletes the folder with everything in it. A nil scratch has nothing to delete.
func (s *scratch) remove() error {
	if s == nil {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// path names something in the folder.
func (s *scratch) path(name string) string { return filepath.Join(s.dir, name) }

// writeFile writes a file that the servers' user alone can read.
func (s *scratch) writeFile(name, content string) (string, error) {
	path := s.path(name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return "", err
	}
	if s.owner == nil {
		return path, nil
	}
	return path, os.Chown(path, int(s.owner.Uid), int(s.owner.Gid))
}

// serverUser is whom servers run as: PostgreSQL refuses to run as root, so root takes Debian's user for it, or
// nobody. Everybody else runs them as themselves.
func serverUser(euid int, lookup func(string) (*user.User, error)) (*syscall.Credential, error) {
	if euid != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("running as root, and there is no user postgres or nobody to run a server as")
}
