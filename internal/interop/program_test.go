//go:build services

package interop

import (
	"math/rand/v2"
	"net"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// run starts a program that runs until the test ends, and returns what it writes.
func run(t *testing.T, name string, args ...string) *lockedBuffer {
	t.Helper()
	out := &lockedBuffer{}
	cmd := exec.Command(name, args...)
	cmd.Dir = t.TempDir()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C reaches it through us
	must(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended is in its output
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(2 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		if t.Failed() {
			t.Logf("%s wrote:\n%s", name, out)
		}
	})
	return out
}

// freePorts returns ports that were free a moment ago, no two alike. Programs that take a number cannot be given a
// listener, so the ports are below those that systems give away by themselves: nobody takes one by chance.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	const lowest, above = 20_000, 32_000
	var ports []int
	for range 1000 {
		if len(ports) == n {
			return ports
		}
		p := lowest + rand.IntN(above-lowest)
		if l, err := net.Listen("tcp", loopback(p)); err == nil {
			defer l.Close()
			ports = append(ports, p)
		}
	}
	t.Fatal("no free ports")
	return nil
}

// eventually waits for what has no signal of its own: what another program writes, or listens on.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); !done(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("waited in vain for " + what)
		}
	}
}
