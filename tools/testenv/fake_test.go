//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestMain lets the test program stand in for PostgreSQL's programs when it is called by their names.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "initdb":
		return
	case "postgres":
		fakePostgres()
	default:
		os.Exit(m.Run())
	}
}

// fakePostgres asks whoever connects for authentication, and ends on SIGINT.
func fakePostgres() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT)
	port := os.Args[slices.Index(os.Args, "-p")+1]
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		fmt.Println("Address already in use")
		os.Exit(1)
	}
	go serveFake(l)
	<-stop
}

func serveFake(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		var message [64]byte
		_, _ = conn.Read(message[:])
		_, _ = conn.Write([]byte("R"))
		conn.Close()
	}
}

// fakeBin returns a folder with the stand-ins, which the servers' user can read.
func fakeBin(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	program, err := os.ReadFile(must(os.Executable()))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(dir, name), program, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir)
	return dir
}

// open lets every user enter a test's folder.
func open(t *testing.T, dir string) {
	t.Helper()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
