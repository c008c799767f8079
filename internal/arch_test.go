// Package internal_test holds the rules of the whole tree: which package may import which, and what keeps the
// domain pure. The rules are docs/architecture.md, section 1, as a table.
package internal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/einmal/einmal/"

// floor is a rule: packages that match path may import what matches one of the others, and nothing else of the
// project. "a/..." is a and everything below it; "a" is a alone. The longest path that matches a package rules it.
type floor struct {
	path string
	may  []string
	why  string
}

// floors goes from the top down; a package may not import what stands above it.
var floors = []floor{
	{"cmd/einmal", []string{"internal/cli"},
		"main hands over and does nothing else, so that tests can run the whole program in their own process"},
	{"internal/cli", []string{"internal/app", "internal/bench", "internal/demo", "internal/doctor", "internal/edge/api/...", "internal/store", "internal/provider/simulator", "internal/domain/...", "internal/smpp", "internal/ground/..."},
		"commands start a gateway through app, talk to a running one in the API's words, and run the simulated SMSC by itself; they never reach into a flow or an adapter"},
	{"deploy", []string{},
		"examples of how it is run, and the tests that read them; the package has no code of its own, and nothing of the program knows it"},
	{"internal/doctor", []string{"internal/app", "internal/store/...", "internal/ground/..."},
		"the doctor looks at what a gateway stands on, with the gateway's own configuration and without starting one; it stands beside the command line, which alone knows it"},
	{"internal/torture/...", []string{"internal/store/...", "internal/provider/simulator", "internal/domain/...", "internal/ground/..."},
		"failure tests drive the program from outside and read its store and its message centre's ledger afterwards; nothing of the program knows them"},
	{"internal/interop", []string{},
		"tests against other people's programs; the package has no code of its own, and nothing of the program knows it"},
	{"internal/demo", []string{"internal/edge/api/...", "internal/provider/simulator", "internal/domain/gsm"},
		"the demonstration is an application like any other: it talks to a gateway in the API's words, and counts in the simulated carrier's ledger"},
	{"internal/bench", []string{"internal/app", "internal/engine/...", "internal/store", "internal/provider/smpp", "internal/provider", "internal/domain/...", "internal/smpp", "internal/ground/..."},
		"benchmarks run parts of the gateway by themselves, and the whole of it as a process, beside bare counterparts; they stand beside the command line, which alone knows them"},
	{"internal/app", []string{"internal/edge/...", "internal/engine/...", "internal/store/...", "internal/lock/...", "internal/queue/...", "internal/provider/...", "internal/domain/...", "internal/smpp", "internal/ground/..."},
		"app alone knows every package: it turns configuration into a running gateway, with explicit tables instead of init registries"},
	{"internal/edge/...", append([]string{"internal/engine/..."}, seams...),
		"the edge translates for the world; it sees flows and contracts, never an adapter, and no other part of the edge"},
	{"internal/edge/api/...", append([]string{"internal/edge/api/...", "internal/engine/..."}, seams...),
		"as every part of the edge; it has packages of its own"},
	{"internal/engine/...", append([]string{}, seams...),
		"a flow sees the contracts of the seams, never an adapter, so that each store, lock and queue is exchangeable; flows know nothing of each other unless listed below"},
	{"internal/engine/intake", append([]string{"internal/engine/receipt", "internal/engine/inbound"}, seams...),
		"intake is the one door for what providers send: it stores the call, then hands it on to these two"},
	{"internal/engine/verify", append([]string{"internal/engine/outbound"}, seams...),
		"a one-time code is sent like any other message: verify stands on outbound"},
	{"internal/engine/relay/...", append([]string{"internal/engine/relay/payload"}, seams...),
		"what leaves the gateway is built in one place, for the webhooks and for the feed"},
	{"internal/store/...", []string{"internal/store/...", "internal/domain/...", "internal/ground/..."},
		"both stores share one SQL and one suite; they run the pure functions that flows give them and know no flow"},
	{"internal/store/postgres", []string{"internal/store", "internal/store/sqlstore/...", "internal/store/migrations", "internal/domain/...", "internal/ground/..."},
		"an adapter is one engine's dialect and knows nothing of the other engine"},
	{"internal/store/sqlite", []string{"internal/store", "internal/store/sqlstore/...", "internal/store/migrations", "internal/domain/...", "internal/ground/..."},
		"an adapter is one engine's dialect and knows nothing of the other engine"},
	{"internal/store", []string{"internal/domain/...", "internal/ground/..."}, contract},
	{"internal/lock/...", []string{"internal/lock", "internal/ground/..."}, "a lock is a hint about keys; it knows neither messages nor the store"},
	{"internal/queue/...", []string{"internal/queue", "internal/ground/..."}, "a queue carries ids; it knows neither messages nor the store"},
	{"internal/provider/...", []string{"internal/provider", "internal/domain/gsm", "internal/domain/phone", "internal/domain/receipt", "internal/ground/..."},
		"adapters translate and never decide: of the domain they see alphabets, numbers and the forms of receipts, not messages or policies"},
	{"internal/provider/smpp", []string{"internal/provider", "internal/smpp", "internal/domain/gsm", "internal/domain/phone", "internal/domain/receipt", "internal/ground/..."},
		"as every adapter, with the protocol beside it"},
	{"internal/provider/simulator", []string{"internal/provider", "internal/provider/smpp", "internal/smpp", "internal/domain/gsm", "internal/domain/phone", "internal/domain/receipt", "internal/ground/..."},
		"the simulated SMSC speaks real SMPP, and its connection is the SMPP adapter"},
	{"internal/provider", []string{"internal/ground/..."}, contract},
	{"internal/domain/...", []string{"internal/domain/...", "internal/ground/clock", "internal/ground/fault", "internal/ground/ident"},
		"decisions are pure: of the ground they see values (times, errors, ids), not what measures or writes"},
	{"internal/smpp", []string{"internal/ground/..."}, "the protocol is usable by both sides and knows nothing of the gateway"},
	{"internal/ground/...", []string{"internal/ground/..."}, "the lowest floor"},
}

const contract = "a seam is a contract: it knows none of those who fulfil it"

// seams are what a flow stands on.
var seams = []string{"internal/store", "internal/lock", "internal/queue", "internal/provider", "internal/domain/...", "internal/ground/..."}

// goPackage is what `go list` tells of a package.
type goPackage struct {
	ImportPath   string
	Dir          string
	Imports      []string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
}

func TestImportsPointDown(t *testing.T) {
	for _, p := range list(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		if path == "internal" || isSuite(path) {
			continue
		}
		rule, ok := ruleFor(path)
		if !ok {
			t.Errorf("%s stands on no floor: give it a row in this table, with its reason", path)
			continue
		}
		for _, imported := range p.Imports {
			target, ours := strings.CutPrefix(imported, module)
			if ours && !rule.allows(target) {
				t.Errorf("%s imports %s.\n  Rule of %s: %s.", path, target, rule.path, rule.why)
			}
		}
	}
}

// TestRulesCatchWrongImports proves the table by imports that it must refuse and some that it must let pass.
func TestRulesCatchWrongImports(t *testing.T) {
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"internal/domain/intent", "internal/domain/policy", true},
		{"internal/domain/intent", "internal/store", false},
		{"internal/domain/intent", "internal/ground/telemetry", false},
		{"internal/store", "internal/store/postgres", false},
		{"internal/store/sqlite", "internal/store/postgres", false},
		{"internal/store/postgres", "internal/store", true},
		{"internal/engine/dispatch", "internal/store/postgres", false},
		{"internal/engine/dispatch", "internal/engine/outbound", false},
		{"internal/engine/intake", "internal/engine/receipt", true},
		{"internal/edge/api", "internal/edge/callback", false},
		{"internal/edge/api", "internal/app", false},
		{"internal/edge/api", "internal/edge/api/apikey", true},
		{"internal/edge/api", "internal/store/sqlite", false},
		{"internal/provider/smpp", "internal/domain/policy", false},
		{"internal/ground/clock", "internal/domain/phone", false},
		{"cmd/einmal", "internal/app", false},
	} {
		rule, ok := ruleFor(c.from)
		if got := ok && rule.allows(c.to); got != c.allowed {
			t.Errorf("%s importing %s: allowed %t, want %t", c.from, c.to, got, c.allowed)
		}
	}
}

// TestProductImportsNoSuite keeps conformance suites, and the testing package with them, out of the program.
func TestProductImportsNoSuite(t *testing.T) {
	for _, p := range list(t) {
		if isSuite(p.ImportPath) {
			continue
		}
		for _, imported := range p.Imports {
			if imported == "testing" || strings.HasPrefix(imported, module) && isSuite(imported) {
				t.Errorf("%s imports %s: what serves tests alone does not belong in the program", p.ImportPath, imported)
			}
		}
	}
}

// isSuite says whether a package serves tests alone: storetest, providertest and so on.
func isSuite(path string) bool { return strings.HasSuffix(path, "test") }

// ruleFor returns the rule with the longest path that matches the package.
func ruleFor(path string) (best floor, ok bool) {
	for _, f := range floors {
		if matches(f.path, path) && len(strings.TrimSuffix(f.path, "/...")) >= len(strings.TrimSuffix(best.path, "/...")) {
			best, ok = f, true
		}
	}
	return best, ok
}

func (f floor) allows(target string) bool {
	for _, pattern := range f.may {
		if matches(pattern, target) {
			return true
		}
	}
	return false
}

func matches(pattern, path string) bool {
	tree, ok := strings.CutSuffix(pattern, "/...")
	return path == tree || ok && strings.HasPrefix(path, tree+"/")
}

// list returns the project's packages as they are built for tests of failure, which has every file but the
// stand-ins of the ordinary build.
func list(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-tags=chaos", "-json=ImportPath,Dir,Imports,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = ".."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(fmt.Errorf("reading the output of go list: %w", err))
		}
		packages = append(packages, p)
	}
	if len(packages) == 0 {
		t.Fatal("go list found no package")
	}
	return packages
}
