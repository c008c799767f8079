//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// aptGet puts a stand-in of apt-get into PATH, which writes its arguments to $CALLS and fails if a package that it
// installs could start a service.
func aptGet(t *testing.T) (calls string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	t.Setenv("CALLS", calls)
	t.Setenv("POLICY_RC_D", filepath.Join(dir, "policy-rc.d"))
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	for name, script := range map[string]string{
		"apt-get": `echo "$@" >>"$CALLS"; "$POLICY_RC_D"; [ $? = 101 ]`,
		"sudo":    `shift; exec "$@"`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return calls
}

func TestPeerIsInstalledOnlyWhereItIsAbsent(t *testing.T) {
	calls := aptGet(t)
	there := false
	find := func(context.Context) (string, error) {
		if there {
			return "/opt/thing", nil
		}
		return "", absent{"there is no thing"}
	}
	s := peer{name: "thing", packages: []string{"thing-bin", "thing-lib"}, after: "echo after >>\"$CALLS\"\n", find: find}.service()
	_, err := s.start(t.Context(), testScratch(t))
	if err == nil || !strings.Contains(err.Error(), "apt-get install thing-bin thing-lib") || !strings.Contains(err.Error(), "there is no thing") {
		t.Errorf("got %v", err)
	}
	const want = "install -qy --no-install-recommends thing-bin thing-lib\nafter\n"
	if got := string(must(os.ReadFile(calls))); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if _, err := os.Stat(os.Getenv("POLICY_RC_D")); err == nil {
		t.Error("the policy for services is still there")
	}
	there = true
	if srv, err := s.start(t.Context(), testScratch(t)); err != nil || srv.value != "/opt/thing" || srv.stop != nil {
		t.Errorf("got %+v, %v", srv, err)
	}
	if got := string(must(os.ReadFile(calls))); got != want {
		t.Error("what is there was installed")
	}
}

func TestKannelsProgramsAreInOneFolder(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	executableFile(t, dir, "bearerbox")
	if folder, err := findKannel(t.Context()); err == nil {
		t.Errorf("without smsbox: %s", folder)
	}
	executableFile(t, dir, "smsbox")
	if folder, err := findKannel(t.Context()); err != nil || folder != dir {
		t.Errorf("got %q, %v", folder, err)
	}
}

func executableFile(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestPerlWithoutTheModuleDoesNotCount(t *testing.T) {
	program(t, "perl", "exit 2")
	path, err := findNetSMPP(t.Context())
	if path != "" && path != "/usr/bin/perl" || (err == nil) == (path == "") {
		t.Errorf("got %q, %v", path, err)
	}
	program(t, "perl", `[ "$1" = -MNet::SMPP ]`)
	if path, err := findNetSMPP(t.Context()); err != nil || filepath.Base(path) != "perl" || path == "/usr/bin/perl" {
		t.Errorf("got %q, %v", path, err)
	}
}

// npm puts stand-ins of node and npm into PATH; the script of npm is given, and the cache is empty.
func npm(t *testing.T, script string) (cache string) {
	t.Helper()
	cache = t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	program(t, "npm", script)
	executableFile(t, os.Getenv("PATH"), "node")
	return cache
}

const installsSMPP = `[ "$1" = ci ] && [ -s package-lock.json ] || exit 1
/bin/mkdir -p node_modules/smpp && echo '{}' >node_modules/smpp/package.json`

func TestPackageIsInstalledOnce(t *testing.T) {
	npm(t, installsSMPP)
	first, err := nodeSMPP(t.Context(), testScratch(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(first.value, "smpp", "package.json")); err != nil {
		t.Error(err)
	}
	executableFile(t, os.Getenv("PATH"), "npm") // installs nothing
	if second, err := nodeSMPP(t.Context(), testScratch(t)); err != nil || second.value != first.value {
		t.Errorf("got %+v, %v", second, err)
	}
}

func TestFailedPackageLeavesNothing(t *testing.T) {
	cache := npm(t, "/bin/mkdir -p node_modules/smpp; echo no network; exit 1")
	_, err := nodeSMPP(t.Context(), testScratch(t))
	if !errors.As(err, &absent{}) || !strings.Contains(err.Error(), "no network") {
		t.Errorf("got %v", err)
	}
	if left := must(filepath.Glob(cache + "/*/*")); len(left) != 0 {
		t.Errorf("left in the cache: %v", left)
	}
}

func TestTwoInstallationsAtOnce(t *testing.T) {
	npm(t, installsSMPP)
	first, err := nodeSMPP(t.Context(), testScratch(t))
	if err != nil {
		t.Fatal(err)
	}
	// Another run installs the same and is faster.
	if err := npmInto(t.Context(), testScratch(t), filepath.Dir(first.value)); err != nil {
		t.Error(err)
	}
	if names := must(os.ReadDir(filepath.Dir(filepath.Dir(first.value)))); len(names) != 1 {
		t.Errorf("%d folders in the cache", len(names))
	}
}

func TestEveryServiceHasItsVariableAndHint(t *testing.T) {
	var seen []string
	for _, s := range services {
		if !strings.HasPrefix(s.env, "EINMAL_TEST_") || !strings.Contains(s.hint, s.env) || slices.Contains(seen, s.env) || len(s.ways) < 2 {
			t.Errorf("%s: variable %s, hint %q", s.name, s.env, s.hint)
		}
		seen = append(seen, s.env)
	}
}
