// Package torture_test runs the whole program, kills it, stops it and starts it again, and holds what clients
// were told, the store and the message centre's ledger against each other afterwards (package check).
//
// Each run has a message centre in a process of its own, which lives on while gateways die, and writes its ledger
// before it answers. Chance comes from a seed that is printed; EINMAL_SEED repeats it, as far as several processes
// on one machine repeat themselves. EINMAL_TORTURE=full asks for the full counts.
package torture_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	_ "github.com/einmal/einmal/internal/cli" // so that a test result of another program is not taken for this one's
)

var (
	binary string // the program, built with the tag chaos
	seed   uint64
	full   = os.Getenv("EINMAL_TORTURE") == "full"
)

// atOnce is how many runs go on side by side. A run spends most of its time waiting for a dead gateway's leases.
const atOnce = 8

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", strconv.Itoa(atOnce))
	os.Exit(run(m))
}

func run(m *testing.M) int {
	seed = uint64(time.Now().UnixNano()) // any bits will do
	if s := os.Getenv("EINMAL_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			fmt.Fprintln(os.Stderr, "EINMAL_SEED is not a number:", err)
			return 2
		}
	}
	fmt.Printf("torture: EINMAL_SEED=%d\n", seed)
	dir, err := os.MkdirTemp("", "einmal-torture-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "einmal")
	build := exec.Command("go", "build", "-tags", "chaos", "-o", binary, "github.com/einmal/einmal/cmd/einmal")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "building the program:", err)
		return 1
	}
	return m.Run()
}

// chance is a test's own source of chance, so that one test can be repeated without the others.
func chance(t *testing.T) *rand.Rand {
	t.Helper()
	h := fnv.New64a()
	_, _ = h.Write([]byte(t.Name()))
	t.Logf("EINMAL_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, h.Sum64())) // it has to be repeatable
}

// times is n in make torture and a tenth of it otherwise.
func times(n int) int {
	if full {
		return n
	}
	return n / 10
}
