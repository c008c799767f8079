//go:build unix

package main

import (
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
)

func TestNewestInstallationIsFound(t *testing.T) {
	root := t.TempDir()
	t.Setenv("PATH", root)
	for _, v := range []string{"9.6", "15", "17"} {
		bin := filepath.Join(root, v, "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		programs := []string{"initdb", "postgres"}
		if v == "17" {
			programs = programs[:1] // the client package alone
		}
		for _, p := range programs {
			if err := os.WriteFile(filepath.Join(bin, p), nil, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, want := findPostgres([]string{root + "/*/bin"}), filepath.Join(root, "15", "bin"); got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestProgramsInPathComeFirstThroughLinks(t *testing.T) {
	real, path := fakeBin(t), t.TempDir()
	if err := os.Symlink(filepath.Join(real, "initdb"), filepath.Join(path, "initdb")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path)
	want := must(filepath.EvalSymlinks(real))
	if got := findPostgres(nil); got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestFreePortCanBeBound(t *testing.T) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", must(freePort())))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestTakenPortIsTold(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte("could not bind: Address already in use"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := explain(os.ErrClosed, log); !strings.Contains(err.Error(), errPortTaken.Error()) {
		t.Errorf("got %v", err)
	}
}

func TestServerThatNeverAsksForAPasswordIsNotReady(t *testing.T) {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("E")) // "the database system is starting up"
			conn.Close()
		}
	}()
	ended := make(chan struct{})
	close(ended)
	if err := awaitPostgres(t.Context(), l.Addr().String(), ended); err == nil {
		t.Error("a server that answers with an error was called ready")
	}
}

func TestRootRunsServersAsSomebodyElse(t *testing.T) {
	nobody := func(name string) (*user.User, error) {
		if name == "nobody" {
			return &user.User{Uid: "65534", Gid: "65534"}, nil
		}
		return nil, user.UnknownUserError(name)
	}
	if c, err := serverUser(0, nobody); err != nil || c.Uid != 65534 {
		t.Errorf("root: %v, %v", c, err)
	}
	if c, err := serverUser(1000, nobody); err != nil || c != nil {
		t.Errorf("an ordinary user: %v, %v; want no change", c, err)
	}
}

func TestUnusableTemporaryFolderIsNotTaken(t *testing.T) {
	for _, parent := range []string{"/nonexistent", "a 'folder\" with $odd, letters"} {
		t.Chdir(t.TempDir())
		open(t, must(os.Getwd()))
		if parent[0] != '/' {
			if err := os.Mkdir(parent, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("TMPDIR", parent)
		s, err := newScratch(t.Output())
		if err != nil {
			t.Fatal(err)
		}
		if odd := strings.Contains(s.dir, "$odd"); !filepath.IsAbs(s.dir) || odd != (parent[0] != '/') {
			t.Errorf("TMPDIR=%q gave %q", parent, s.dir)
		}
		if err := s.remove(); err != nil {
			t.Error(err)
		}
	}
}
