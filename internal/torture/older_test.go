//go:build services

package torture_test

import (
	"context"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
)

const migrationsFolder = "internal/store/postgres/migrations"

// git runs git in the checkout.
func git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", filepath.Join("..", "..")}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v: this test builds an earlier commit, and needs the checkout with its whole history (git fetch --unshallow)", args, err)
	}
	return strings.TrimSpace(string(out))
}

// hasHistory reports whether there is a history in which an earlier program could be found. Sources without one, as they
// are taken out of an archive, have none; where changes are checked there must be one.
func hasHistory(t *testing.T) bool {
	t.Helper()
	if exec.Command("git", "-C", filepath.Join("..", ".."), "rev-parse", "--git-dir").Run() == nil {
		return true
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("there is no git history: no earlier program can be built, and that one works beside this one stays untested; check out with the history")
	}
	return false
}

// migrationsOf are the migrations of a commit, oldest first.
func migrationsOf(t *testing.T, commit string) []string {
	t.Helper()
	var names []string
	for _, file := range strings.Fields(git(t, "ls-tree", "--name-only", commit, migrationsFolder+"/")) {
		names = append(names, path.Base(file))
	}
	return names
}

// oldestReader is the first commit whose program works on this schema by what the schema says: it knows the version that
// is asked for, and has none of the migrations left out that came later under lower numbers.
func oldestReader(t *testing.T, minReader int64) (commit string, newest int64) {
	t.Helper()
	now := migrationsOf(t, "HEAD")
	for _, c := range strings.Fields(git(t, "log", "--reverse", "--topo-order", "--format=%H", "--", migrationsFolder)) {
		then := migrationsOf(t, c)
		if len(then) == 0 || len(then) > len(now) || !slices.Equal(then, now[:len(then)]) {
			continue
		}
		number, _, _ := strings.Cut(then[len(then)-1], "_")
		newest, err := strconv.ParseInt(number, 10, 64)
		must(t, err)
		if newest >= minReader {
			return c, newest
		}
	}
	t.Fatalf("no commit has a schema of version %d or later: the history is not whole (git fetch --unshallow)", minReader)
	return "", 0
}

// buildOf builds the program of a commit.
func buildOf(t *testing.T, commit string) string {
	t.Helper()
	dir := t.TempDir()
	archive, program := filepath.Join(dir, "source.tar"), filepath.Join(dir, "einmal")
	git(t, "archive", "--output", archive, commit)
	source := filepath.Join(dir, "source")
	must(t, os.Mkdir(source, 0o700))
	unpack := exec.Command("tar", "-xf", archive, "-C", source)
	build := exec.Command("go", "build", "-tags", "chaos", "-o", program, "./cmd/einmal")
	build.Dir, build.Env = source, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	for _, cmd := range []*exec.Cmd{unpack, build} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v of commit %s: %v\n%s", cmd.Args, commit, err, out)
		}
	}
	return program
}

// minReader is what this program's schema says of who can work on it.
func minReader(t *testing.T, e engine) int64 {
	t.Helper()
	s, err := e.open()
	must(t, err)
	text, err := s.Meta(context.Background(), "schema.min_reader")
	must(t, err)
	must(t, s.Close())
	n, err := strconv.ParseInt(text, 10, 64)
	must(t, err)
	return n
}

// The oldest program that may work on this schema and this one take turns on one PostgreSQL, as in an upgrade and on the
// way back: the older one makes the store, this one comes beside it, the older one is started again on the schema that this
// one has made, goes on alone, and is joined again. Both answer all the time, all messages are sent once, and no outcome is
// unknown.
//
// covers: I1, I2, I3, I5, I6, I7, I8, I9, I13, I16
func TestAnOlderProgramBesideThisOne(t *testing.T) {
	t.Parallel()
	if !hasHistory(t) {
		_, _ = os.Stderr.WriteString("TestAnOlderProgramBesideThisOne: these sources have no history: that an older program works beside this one was NOT tested\n")
		return
	}
	commit, version := oldestReader(t, minReader(t, engines["postgres"](t, "")))
	t.Logf("the older program is that of commit %s, schema %d", commit, version)
	older := buildOf(t, commit)
	w := newWorld(t, "postgres")
	w.crowd()
	w.binds, w.allowed, w.load.gates = 2, 2, map[string]gate{}
	w.load.endings = []string{"00", "00", "00", "01", "02", "03", "06", "09", "14"} // without those that lose an answer
	start := func(folder, program string) *process {
		w.program = program
		return w.start(folder, "")
	}
	leave := func(folder string, p *process) {
		w.load.leaveOut(folder) // as a load balancer does that asks /readyz
		w.stop(p)
	}
	sent := func(n int) {
		lines := len(w.readLedger())
		w.await("messages to be sent", func() bool { return len(w.readLedger()) >= lines+n })
	}
	old := start(folders[0], older)
	w.copyKeys(folders[0], folders[1])
	over := make(chan struct{})
	go func() {
		defer close(over)
		sent(20) // by the older one
		newer := start(folders[1], binary)
		sent(60) // by both
		leave(folders[0], old)
		old = start(folders[0], older) // on the schema of the newer one
		sent(60)
		leave(folders[1], newer)
		sent(30) // by the older one again
		start(folders[1], binary)
		sent(60)
		leave(folders[0], old)
		sent(30) // by the newer one
	}()
	w.load.paced(many, rest, func() bool { return closed(over) })
	<-over
	w.over = clock.FromTime(time.Now())
	w.load.repeat()
	w.load.remind(10)
	w.settle()
	for _, p := range w.gateway {
		if !p.over() {
			w.stop(p)
		}
	}
	h := w.check()
	for _, m := range h.Messages {
		if m.State == message.Unknown {
			t.Errorf("the outcome of %s is unknown, and nothing has failed", m.ID)
		}
	}
	t.Logf("%d messages", len(h.Messages))
}
