//go:build services

package torture_test

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/postgres"
)

// server is a PostgreSQL of a test's own, which may be stopped and may get a standby. Nobody but this machine's users
// can reach it, and it ends with the test.
type server struct {
	t    *testing.T
	data string
	port string
	on   bool
}

// serverUser is who runs the servers: they refuse to be run by root. Nil: whoever runs the tests.
func serverUser(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		must(t, err)
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		must(t, err)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	t.Fatal("root may not run PostgreSQL, and there is no other user to run it")
	return nil
}

// program runs one of the server's programs to its end.
func program(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := programErr(t, name, args...); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

func programErr(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	path := name
	if _, err := exec.LookPath(name); err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name) // the only error is a malformed pattern
		if len(found) == 0 {
			t.Fatalf("PostgreSQL's program %s is neither in PATH nor in /usr/lib/postgresql", name)
		}
		path = found[len(found)-1]
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: serverUser(t)}
	log, err := os.CreateTemp(t.TempDir(), "out") // a pipe would stay open as long as the server that pg_ctl leaves behind
	must(t, err)
	defer func() { _ = log.Close() }()
	cmd.Stdout, cmd.Stderr = log, log
	err = cmd.Run()
	out, readErr := os.ReadFile(log.Name())
	must(t, readErr)
	return string(out), err
}

// serverFolder is an empty folder that the servers' user owns.
func serverFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "einmal-server-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if u := serverUser(t); u != nil {
		must(t, os.Chown(dir, int(u.Uid), int(u.Gid)))
	}
	return dir
}

// newServer makes a server and starts it.
func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, data: filepath.Join(serverFolder(t), "data"), port: freePort(t)}
	program(t, "initdb", "--pgdata="+s.data, "--username=einmal", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync")
	t.Cleanup(func() {
		if s.on {
			_, _ = programErr(t, "pg_ctl", "stop", "-D", s.data, "-m", "immediate", "-w")
		}
	})
	s.start()
	return s
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(t, err)
	must(t, l.Close())
	return port
}

func (s *server) start() {
	s.t.Helper()
	program(s.t, "pg_ctl", "start", "-D", s.data, "-w", "-t", "60", "-l", filepath.Join(filepath.Dir(s.data), "log"), "-o",
		fmt.Sprintf("-p %s -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=150 -c fsync=on -c full_page_writes=on", s.port))
	s.on = true
}

// stop ends the server: in mode immediate as a crash would, in mode fast after its standbys have everything.
func (s *server) stop(mode string) {
	s.t.Helper()
	program(s.t, "pg_ctl", "stop", "-D", s.data, "-m", mode, "-w", "-t", "60")
	s.on = false
}

// standby makes a server that follows this one, and starts it.
func (s *server) standby() *server {
	s.t.Helper()
	n := &server{t: s.t, data: filepath.Join(serverFolder(s.t), "data"), port: freePort(s.t)}
	program(s.t, "pg_basebackup", "-D", n.data, "-d", "postgres://einmal@127.0.0.1:"+s.port+"/postgres", "-R", "-X", "stream", "-c", "fast", "--no-sync")
	s.t.Cleanup(func() {
		if n.on {
			_, _ = programErr(s.t, "pg_ctl", "stop", "-D", n.data, "-m", "immediate", "-w")
		}
	})
	n.start()
	return n
}

// promote makes a standby a server that writes.
func (s *server) promote() {
	s.t.Helper()
	program(s.t, "pg_ctl", "promote", "-D", s.data, "-w", "-t", "60")
}

func (s *server) address() string { return net.JoinHostPort("127.0.0.1", s.port) }

// url is the database's. The way there may be another than the straight one.
func serverURL(address string) string {
	return (&url.URL{Scheme: "postgres", User: url.User("einmal"), Host: address, Path: "/postgres", RawQuery: "sslmode=disable"}).String()
}

// has waits until a standby has everything that this server has written.
func (s *server) hasFollower(standby *server) {
	s.t.Helper()
	primary, follower := s.open(), standby.open()
	defer func() { _, _ = primary.Close(), follower.Close() }()
	var at string
	must(s.t, primary.QueryRow("select pg_current_wal_lsn()::text").Scan(&at))
	for end := time.Now().Add(patience); ; <-time.After(50 * time.Millisecond) { // replication has no signal
		var there bool
		if err := follower.QueryRow("select coalesce(pg_last_wal_replay_lsn() >= $1::pg_lsn, false)", at).Scan(&there); err == nil && there {
			return
		}
		if time.Now().After(end) {
			s.t.Fatal("the standby does not follow")
		}
	}
}

func (s *server) open() *sql.DB {
	s.t.Helper()
	db, err := sql.Open("pgx", serverURL(s.address()))
	must(s.t, err)
	return db
}

// onServer is an engine on a server of its own.
func onServer(s *server) func(*testing.T, string) engine {
	return func(*testing.T, string) engine {
		e := engine{url: serverURL(s.address()), shared: true}
		return e
	}
}

// opening opens the world's store, wherever the way to it leads now.
func (w *world) opening() {
	w.engine.open = func() (store.Store, error) {
		return postgres.Open(context.Background(), postgres.Options{URL: w.engine.url})
	}
}
