//go:build unix

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program puts a shell script into a folder that is the whole PATH but for the shell's own tools.
func program(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
}

func testScratch(t *testing.T) *scratch {
	t.Helper()
	s, err := newScratch(t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.remove() })
	return s
}

func TestContainerIsRemovedWhenItDoesNotStart(t *testing.T) {
	calls := filepath.Join(t.TempDir(), "calls")
	t.Setenv("CALLS", calls)
	program(t, "docker", `echo "$@" >>"$CALLS"; case $1 in run) echo c0ffee;; port) exit 1;; esac`)
	if _, err := startContainer(t.Context(), nil); err == nil {
		t.Fatal("no error although the container has no port")
	}
	got := string(must(os.ReadFile(calls)))
	if !strings.Contains(got, "rm --force --volumes c0ffee") {
		t.Errorf("the container was not removed; docker was called with:\n%s", got)
	}
}

func TestPasswordIsNoArgument(t *testing.T) {
	if slices.ContainsFunc(containerArgs(), func(a string) bool { return strings.HasPrefix(a, "POSTGRES_PASSWORD=") }) {
		t.Error("every user of the machine can read the arguments of a process")
	}
}

func TestDockerWithoutDaemonIsAbsent(t *testing.T) {
	program(t, "docker", "exit 1")
	if _, err := startContainer(t.Context(), nil); err != (absent{"no Docker daemon answers"}) {
		t.Errorf("got %v", err)
	}
}

func TestFailedInstallationIsAbsentAndTellsWhy(t *testing.T) {
	program(t, "apt-get", "echo no network; exit 100")
	err := asRoot(t.Context(), testScratch(t), "apt-get install thing")
	if _, ok := err.(absent); !ok {
		t.Errorf("got %v", err)
	}
}

func TestCompilerWithoutHeadersDoesNotCount(t *testing.T) {
	t.Setenv("CC", "")
	dir := testScratch(t)
	program(t, "gcc", "echo 'fatal error: pthread.h' >&2; exit 1")
	if cc, err := compiler(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "libc6-dev") {
		t.Errorf("got %q, %v", cc, err)
	}
	program(t, "cc", "exit 0")
	if cc, err := compiler(t.Context(), dir); err != nil || cc != "cc" {
		t.Errorf("got %q, %v", cc, err)
	}
}
