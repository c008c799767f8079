package main_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/einmal/einmal/internal/provider/simulator"
)

// The README's first session works as printed: one message, and the reason why there is only one.
//
// covers: D7, D14
func TestFirstSession(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "einmal")
	run(t, exec.Command("go", "build", "-o", binary, "."))
	address := serve(t, binary, dir)

	session := exec.Command("sh", "-eu", "-c", strings.ReplaceAll(readSession(t), "go run ./cmd/einmal", binary))
	session.Dir, session.Env = dir, append(os.Environ(), "EINMAL_URL=http://"+address, "EINMAL_KEY=", "NO_COLOR=1")
	out := run(t, session)
	for _, want := range []string{"allow (new_intent)", "suppress (technical_duplicate)", "Not sent a second time", "accepted attempt 1"} {
		if !strings.Contains(out, want) {
			t.Errorf("the session does not say %q:\n%s", want, out)
		}
	}
	entries, err := simulator.ReadLedger(filepath.Join(dir, "ledger"))
	if err != nil || len(entries) != 1 || entries[0].Outcome != "accepted" {
		t.Errorf("the carrier has %d entries, want one accept: %v", len(entries), err)
	}
}

func readSession(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)<!-- session -->\n```sh\n(.*?)```\n<!-- /session -->").FindSubmatch(readme)
	if found == nil {
		t.Fatal("README.md has no session between <!-- session --> and <!-- /session -->")
	}
	return string(found[1])
}

// serve starts the gateway in dir, as the README's first command does but on a free port, and returns its address.
func serve(t *testing.T, binary, dir string) string {
	t.Helper()
	gateway := exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--json", "--smsc-ledger", "ledger")
	gateway.Dir = dir
	stdout, err := gateway.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := gateway.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = gateway.Process.Signal(syscall.SIGTERM) // if it is gone, Wait says how
		if err := gateway.Wait(); err != nil {
			t.Errorf("the gateway did not stop in order: %v", err)
		}
	})
	var ready struct {
		Listen  string `json:"listen"`
		ReadyMs int    `json:"ready_ms"`
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &ready) != nil || ready.Listen == "" {
		t.Fatalf("the start line is %q: %v", line, err)
	}
	t.Logf("ready in %d ms", ready.ReadyMs)
	return ready.Listen
}

func run(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
	return string(out)
}
