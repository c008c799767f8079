//go:build unix

package main

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// tables returns a table that starts the stand-in and, where one is installed, one that starts the real server.
func tables(t *testing.T) map[string][]service {
	t.Helper()
	t.Setenv("EINMAL_TEST_POSTGRES", "")
	t.Setenv("TMPDIR", t.TempDir())
	open(t, os.Getenv("TMPDIR"))
	bins := map[string]string{"stand-in": fakeBin(t)}
	if bin := findPostgres(installations); bin != "" {
		bins["installed"] = bin
	}
	out := map[string][]service{}
	for name, bin := range bins {
		start := func(ctx context.Context, dir *scratch) (*server, error) { return startPostgres(ctx, dir, bin) }
		out[name] = []service{{name: "postgres", env: "EINMAL_TEST_POSTGRES", ways: []way{{name, start}}}}
	}
	return out
}

// report runs testenv with a shell script that can write to $OUT, and returns its exit code and what was written.
func report(t *testing.T, table []service, script string, signals <-chan os.Signal) (code int, wrote string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	t.Setenv("OUT", out)
	code = run([]string{"--", "sh", "-c", script}, table, signals, t.Output())
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return code, strings.TrimSpace(string(b))
}

// assertGone fails if the server still answers or anything is left in the temporary folder.
func assertGone(t *testing.T, serverURL string) {
	t.Helper()
	u, err := url.Parse(serverURL)
	if err != nil || u.Host == "" {
		t.Fatalf("not a URL: %q", serverURL)
	}
	if conn, err := net.Dial("tcp", u.Host); err == nil {
		conn.Close()
		t.Error("the server still answers")
	}
	if left := must(filepath.Glob(os.Getenv("TMPDIR") + "/einmal-testenv-*")); len(left) != 0 {
		t.Errorf("left in the temporary folder: %v", left)
	}
}

const writeURL = `echo "$EINMAL_TEST_POSTGRES" >"$OUT"; `

func TestServerEndsWithTheCommand(t *testing.T) {
	for name, table := range tables(t) {
		t.Run(name, func(t *testing.T) {
			for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 128 + 15} {
				code, serverURL := report(t, table, writeURL+script, nil)
				if code != want {
					t.Errorf("%s: exit code %d, want %d", script, code, want)
				}
				assertGone(t, serverURL)
			}
		})
	}
}

func TestSignalReachesTheCommandAndServerEnds(t *testing.T) {
	for name, table := range tables(t) {
		t.Run(name, func(t *testing.T) {
			signals := make(chan os.Signal, 1)
			fifo := filepath.Join(t.TempDir(), "ready")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("READY", fifo)
			go func() {
				_, _ = os.ReadFile(fifo) // returns once the script has set its trap
				signals <- syscall.SIGTERM
			}()
			code, serverURL := report(t, table, writeURL+`trap 'exit 42' TERM; echo >"$READY"; while :; do sleep 0.01; done`, signals)
			if code != 42 {
				t.Errorf("exit code %d, want the command's own, 42", code)
			}
			assertGone(t, serverURL)
		})
	}
}

func TestServerEndsWhenTheRunPanics(t *testing.T) {
	for name, table := range tables(t) {
		t.Run(name, func(t *testing.T) {
			var serverURL string
			broken := service{name: "broken", env: "EINMAL_TEST_BROKEN", ways: []way{{"panic", func(context.Context, *scratch) (*server, error) {
				panic("a defect")
			}}}}
			first := table[0]
			start := first.ways[0].start
			first.ways = []way{{name, func(ctx context.Context, dir *scratch) (*server, error) {
				srv, err := start(ctx, dir)
				serverURL = srv.value
				return srv, err
			}}}
			func() {
				defer func() { _ = recover() }()
				run([]string{"--", "true"}, []service{first, broken}, nil, t.Output())
			}()
			assertGone(t, serverURL)
		})
	}
}

func TestWhatTheCommandLeavesBehindIsEnded(t *testing.T) {
	t.Setenv("EINMAL_TEST_POSTGRES", "postgres://elsewhere")
	fifo := filepath.Join(t.TempDir(), "held")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HELD", fifo)
	gone := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(fifo) // ends when the last writer has ended
		gone <- err
	}()
	if code := run([]string{"--", "sh", "-c", `exec 3>"$HELD"; sleep 1000 & exit 0`}, services[:1], nil, t.Output()); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if err := <-gone; err != nil {
		t.Error(err)
	}
}

func TestNamedServerIsTakenAsItIs(t *testing.T) {
	t.Setenv("EINMAL_TEST_POSTGRES", "postgres://elsewhere:5432/db")
	never := []service{{name: "postgres", env: "EINMAL_TEST_POSTGRES"}}
	code, got := report(t, never, writeURL, nil)
	if code != 0 || got != "postgres://elsewhere:5432/db" {
		t.Errorf("exit code %d, the command saw %q", code, got)
	}
}

func TestWrongCallIsRefused(t *testing.T) {
	for _, args := range [][]string{{}, {"-need", "oracle", "--", "true"}, {"-nonsense"}} {
		if code := run(args, services, nil, t.Output()); code != 2 {
			t.Errorf("%q: exit code %d, want 2", args, code)
		}
	}
}

func TestNextWayIsTriedOnlyIfTheFirstIsAbsent(t *testing.T) {
	way1 := func(err error) way {
		return way{"first", func(context.Context, *scratch) (*server, error) { return nil, err }}
	}
	second := way{"second", func(context.Context, *scratch) (*server, error) { return &server{value: "second"}, nil }}
	s := service{name: "thing", ways: []way{way1(absent{"not here"}), second}}
	if srv, err := s.start(t.Context(), nil); err != nil || srv.value != "second" {
		t.Errorf("after an absent way: %v, %v", srv, err)
	}
	s.ways[0] = way1(errors.New("it burns"))
	if _, err := s.start(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "it burns") {
		t.Errorf("a way that is there and fails must end the search, got %v", err)
	}
	s = service{name: "thing", ways: []way{way1(absent{"not here"})}, hint: "buy one"}
	if _, err := s.start(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "not here") || !strings.Contains(err.Error(), "buy one") {
		t.Errorf("the error must say what is missing and what to do, got %v", err)
	}
}
