//go:build chaos

package chaos

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Enabled reports whether this build can be told to fail.
const Enabled = true

var (
	kill        = mustChoose("EINMAL_KILL")
	pause       = mustChoose("EINMAL_PAUSE")
	storeOffset = mustDuration("EINMAL_CLOCK_OFFSET")
	nodeOffset  = mustDuration("EINMAL_NODE_CLOCK_OFFSET")
	haste       = mustHaste("EINMAL_WEBHOOK_HASTE")
)

// choice is a pass of a point.
type choice struct {
	point Point
	pass  int64
	seen  atomic.Int64
}

// now reports whether this is it.
func (c *choice) now(p Point) bool { return p == c.point && c.seen.Add(1) == c.pass }

// At ends the process, or stops it until somebody continues it, if p is the chosen point and this is the chosen pass.
func At(p Point) {
	if kill.now(p) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way; nothing more may happen here
	}
	if pause.now(p) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
}

// StoreClockOffset is how far the store's clock is shifted.
func StoreClockOffset() time.Duration { return storeOffset }

// NodeClockOffset is how far the node's wall clock is shifted.
func NodeClockOffset() time.Duration { return nodeOffset }

// WebhookHaste is by how much the pauses between tries of a webhook are shorter than they are.
func WebhookHaste() int64 { return haste }

func mustHaste(env string) int64 {
	s := os.Getenv(env)
	if s == "" {
		return 1
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 1 {
		die("%s=%s: write a number from 1", env, s)
	}
	return n
}

// mustChoose reads "point:n". A typing error must not turn a failure test into a test of nothing, so it ends
// the process at once.
func mustChoose(env string) *choice {
	s := os.Getenv(env)
	if s == "" {
		return &choice{}
	}
	name, count, _ := strings.Cut(s, ":")
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n < 1 || !slices.Contains(Points(), Point(name)) {
		die("%s=%s: write point:n, n from 1, with a point that \"einmal chaos points\" lists", env, s)
	}
	return &choice{point: Point(name), pass: n}
}

func mustDuration(env string) time.Duration {
	s := os.Getenv(env)
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		die("%s=%s: write a duration such as 10m or -90s", env, s)
	}
	return d
}

func die(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(2)
}
