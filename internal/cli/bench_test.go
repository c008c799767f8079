package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/bench"
)

// benchChild makes the test program the program itself: benches start it as other processes.
const benchChild = "EINMAL_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(benchChild) != "" {
		os.Exit(Main())
	}
	os.Exit(m.Run())
}

// benchStores are the stores that benches are tested on.
var benchStores = map[string]func(t *testing.T) string{"sqlite": func(*testing.T) string { return "sqlite" }}

// Every bench runs, with counts too small to say anything, and each of its figures has what it is held against.
func TestBenchesRun(t *testing.T) {
	t.Setenv(benchChild, "1")
	for name, store := range benchStores {
		for _, c := range []struct {
			args string
			want []string // beginnings of lines, in order
		}{
			{"decide --count 300", []string{
				"decisions in process / bare batched insert", "decisions in process / one transaction a request", "rows that a decision writes", "bytes that a decision writes",
				"new intents over HTTP / bare handler", "duplicates over HTTP / bare handler", "duplicates of few intents over HTTP / bare handler", "memory",
			}},
			{"receipts --count 300", []string{"receipts / bare batched insert", "rows that a receipt writes", "bytes that a receipt writes"}},
			{"latency --count 5 --pending 100 --every 5ms", []string{
				"a code on the wire, idle, p50", "a claim of 20", "a claim that a code is in", "a code on the wire, 100 campaign messages pending, p50", "a code on the wire, 100 campaign messages pending, p99",
			}},
			{"start", []string{"start with an empty store until ready"}},
			{"growth --count 300 --keys 100100", []string{"a decision alone", "decisions in batches"}},
			{"pipeline --count 60", []string{
				"messages through the pipeline / Kannel", "messages through the pipeline / Kannel with receipts", "rows of a message", "size of a message", "memory",
			}},
		} {
			t.Run(name+" "+c.args, func(t *testing.T) {
				r := runBench(t, append(strings.Fields("bench "+c.args+" --rounds 1 --json --store"), store(t))...)
				for _, l := range r.Lines {
					checkLine(t, l)
					if len(c.want) > 0 && strings.HasPrefix(l.What, c.want[0]) {
						c.want = c.want[1:]
					}
				}
				if len(c.want) > 0 {
					t.Errorf("no line %q in %+v", c.want[0], r.Lines)
				}
			})
		}
	}
}

func runBench(t *testing.T, args ...string) (r bench.Report) {
	t.Helper()
	code, out, errs := newMachine(t, nil).run(append(args, "--folder", t.TempDir())...)
	if code != exitDone {
		t.Fatalf("%v: %d %s", args, code, errs)
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if m := r.Machine; m.Cores < 1 || m.Go == "" || m.Store == "" || r.TookMs < 1 {
		t.Errorf("what the machine is: %+v", m)
	}
	return r
}

func checkLine(t *testing.T, l bench.Line) {
	t.Helper()
	switch {
	case l.Verdict == "", l.Unit == "":
		t.Errorf("%+v", l)
	case l.Missing != "":
		return // it says why there is no figure
	case l.Value <= 0:
		t.Errorf("%s: %v", l.What, l.Value)
	case l.Unit == "ratio" && (len(l.Rounds) != 1 || l.Ours == nil || l.Against == nil || l.Ours.Count == 0 || l.Against.PerSecond <= 0):
		t.Errorf("%s is not held against anything: %+v", l.What, l)
	}
}

// The report is also a table for people.
func TestBenchTable(t *testing.T) {
	t.Setenv(benchChild, "1")
	m := newMachine(t, nil)
	m.terminal = true
	code, out, errs := m.run("bench", "decide", "--over", "process", "--count", "300", "--rounds", "2", "--folder", t.TempDir())
	if code != exitDone || !strings.Contains(out, "VERDICT") || !strings.Contains(out, "bare batched insert") || !strings.Contains(errs, "round 2 of 2") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if code, _, errs = m.run("bench", "decide", "--count", "0"); code != exitFailed || !strings.Contains(errs, "--count") {
		t.Errorf("%d %s", code, errs)
	}
	for _, wrong := range []string{"--every=0s", "--rate=0", "--rate=20000", "--pending=-1"} {
		name, _, _ := strings.Cut(wrong, "=")
		if code, _, errs = m.run("bench", "latency", wrong); code != exitUsage || !strings.Contains(errs, name) {
			t.Errorf("%s: %d %s", wrong, code, errs)
		}
	}
	if code, _, errs = m.run("bench", "decide", "--store", "mysql://x"); code != exitFailed || !strings.Contains(errs, "postgres://") {
		t.Errorf("%d %s", code, errs)
	}
}
