package app_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/ground/settings"
)

// Every scalar of the example file can be said by its variable alone, and means the same.
//
// covers: X7
func TestEveryMemberHasItsVariable(t *testing.T) {
	t.Setenv("CARRIER_A_PASSWORD", "secret")
	text := example(t, "configuration.md", "config")
	file, err := loadAll(t, text, nil, app.Flags{})
	must(t, err)
	members := settings.Members(&file.Config, "EINMAL_")
	var environ []string
	for _, m := range members {
		if m.Env != "" && !m.Unset {
			environ = append(environ, m.Env+"="+m.Text())
		}
	}
	both, err := loadAll(t, text, environ, app.Flags{})
	must(t, err)
	if !reflect.DeepEqual(both.Config, file.Config) {
		t.Errorf("the file alone is\n%+v\nwith variables that say the same\n%+v", file.Config, both.Config)
	}
	said := 0
	for _, s := range both.Shown() {
		if s.Env != "" && !s.Unset && s.Value != "" {
			said++
			if want := (settings.Origin{Kind: settings.FromEnv, Name: s.Env}); s.Origin != want {
				t.Errorf("%s comes from %s, want %s", s.Member, s.Origin, want)
			}
		}
	}
	if said < 40 {
		t.Errorf("%d members have a variable", said)
	}
}

// The defaults, then the file, then the environment, then the flags; each says that it was there.
//
// covers: X7
func TestPrecedence(t *testing.T) {
	file := "sender: FILE\nlisten: {http: 127.0.0.1:1}\nconnections:\n  carrier-a: {kind: simulator, window: 5, rate: 1/s}\n"
	l, err := loadAll(t, file, []string{"EINMAL_LISTEN_HTTP=127.0.0.1:2", "EINMAL_DATA=there", "EINMAL_CONNECTIONS_CARRIER_A_WINDOW=20", "EINMAL_POLICY="},
		app.Flags{Listen: "127.0.0.1:3", LogLevel: "debug"})
	must(t, err)
	got := map[string]string{}
	for _, s := range l.Shown() {
		got[s.Member] = s.Value + " " + s.Origin.Kind + " " + s.Origin.Name
	}
	for member, want := range map[string]string{
		"listen.http": "127.0.0.1:3 flag listen", "data": "there env EINMAL_DATA", "log.level": "debug flag log-level", "policy": "builtin default ",
		"connections.carrier-a.window": "20 env EINMAL_CONNECTIONS_CARRIER_A_WINDOW", "receipts.grace": "15m default ",
	} {
		if got[member] != want {
			t.Errorf("%s is %q, want %q", member, got[member], want)
		}
	}
	if l.Listen.HTTP != "127.0.0.1:3" || l.Data != "there" || l.Connections["carrier-a"].Window != 20 || l.Log.Level != "debug" || l.Sender != "FILE" {
		t.Errorf("what is shown is not what is in force: %+v", l.Config)
	}
	if from := got["connections.carrier-a.rate"]; !strings.HasPrefix(from, "1/s file ") {
		t.Errorf("the rate is %q", from)
	}
}

// Without a file the simulator's members have variables.
func TestVariablesWithoutAFile(t *testing.T) {
	l, err := app.Sources{Environ: []string{"EINMAL_CONNECTIONS_SIMULATOR_WINDOW=7", "EINMAL_LOG_FORMAT=json"}}.Load()
	must(t, err)
	if l.Connections["simulator"].Window != 7 || l.Log.Format != "json" {
		t.Errorf("%+v", l.Config)
	}
}

// Variables that are no members are passed over where they are known, and refused where they are not.
//
// covers: X7
func TestKnownAndUnknownVariables(t *testing.T) {
	for _, known := range []string{
		"EINMAL_CONFIG=x", "EINMAL_URL=x", "EINMAL_KEY=x", "EINMAL_KILL=x", "EINMAL_PAUSE=x", "EINMAL_CLOCK_OFFSET=1s", "EINMAL_NODE_CLOCK_OFFSET=1s", "EINMAL_SEED=1",
		"EINMAL_TORTURE=full", "EINMAL_TEST_POSTGRES=x", "EINMAL_SERVICE_HOST=10.0.0.1", "EINMAL_PORT=tcp://10.0.0.1:80", "EINMAL_PORT_8080_TCP=tcp://10.0.0.1:80",
		"EINMAL_PORT_8080_TCP_ADDR=10.0.0.1", "EINMAL_API_SERVICE_PORT_HTTP=80", "EINMAL_PASSWORD_OF_A=x", "OTHER=1",
	} {
		if _, err := loadAll(t, "connections: {a: {kind: smpp, address: 'x:1', password: 'env:EINMAL_PASSWORD_OF_A'}}", []string{known}, app.Flags{}); err == nil || strings.Contains(err.Error(), "sets nothing") {
			t.Errorf("%s: %v; it is known, and the password's variable is not set", known, err)
		}
	}
	for unknown, nearest := range map[string]string{
		"EINMAL_LISTEN=x": "EINMAL_LISTEN_HTTP", "EINMAL_RECEIPT_GRACE=1m": "EINMAL_RECEIPTS_GRACE", "EINMAL_PORT=8080": "the nearest that does is EINMAL_", "EINMAL_KILLS=1": "sets nothing",
	} {
		if _, err := loadAll(t, "", []string{unknown}, app.Flags{}); err == nil || !strings.Contains(err.Error(), nearest) || strings.Contains(err.Error(), "8080") {
			t.Errorf("%s: %v, want %q", unknown, err, nearest)
		}
	}
	if _, err := loadAll(t, "", []string{"EINMAL_RECEIPTS_GRACE=soon"}, app.Flags{}); err == nil || !strings.Contains(err.Error(), "EINMAL_RECEIPTS_GRACE: not a duration") {
		t.Errorf("a wrong value: %v", err)
	}
	if _, err := loadAll(t, "", []string{"EINMAL_RECEIPTS_GRACE=2s"}, app.Flags{}); err == nil || !strings.Contains(err.Error(), "(env EINMAL_RECEIPTS_GRACE): receipts.grace: longer") {
		t.Errorf("a value that does not fit the others: %v", err)
	}
}

// Whatever the program or its tests read is known: a gateway that is started with it would not start otherwise.
func TestVariablesOfTheCodeAreKnown(t *testing.T) {
	l, err := app.Sources{}.Load()
	must(t, err)
	members := map[string]bool{}
	for _, s := range l.Shown() {
		members[s.Env] = true
	}
	read := regexp.MustCompile(`(?:Getenv|LookupEnv|mustDuration|mustChoose|Setenv)\("(EINMAL_[A-Z_]+)"|env:"(EINMAL_[A-Z_]+)"|"(EINMAL_[A-Z_]+)=`)
	seen := 0
	must(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasPrefix(path, "../app/") || strings.HasPrefix(path, "../doctor/") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range read.FindAllStringSubmatch(string(text), -1) {
			name := m[1] + m[2] + m[3]
			if seen++; members[name] {
				continue
			}
			if _, err := (app.Sources{Environ: []string{name + "=1"}}).Load(); err != nil {
				t.Errorf("%s has %s, which a gateway refuses: name it in otherVariables (%v)", path, name, err)
			}
		}
		return err
	}))
	if seen < 8 {
		t.Errorf("the code names %d variables", seen)
	}
}

// The store's address may be a reference; what is shown is the reference.
//
// covers: X7
func TestStoreByReference(t *testing.T) {
	t.Setenv("STORE_URL", "postgres://u:tell-nobody@db/einmal")
	l, err := loadAll(t, "store: env:STORE_URL", nil, app.Flags{})
	must(t, err)
	if l.Store != "postgres://u:tell-nobody@db/einmal" {
		t.Errorf("the store is %q", l.Store)
	}
	if shown := settings.YAML(l.Shown()); strings.Contains(shown, "tell-nobody") || !strings.Contains(shown, "env:STORE_URL") {
		t.Errorf("%s", shown)
	}
	if _, err := loadAll(t, "store: file:/no/such", nil, app.Flags{}); err == nil || !strings.Contains(err.Error(), "store: the file /no/such cannot be read") {
		t.Error(err)
	}
}

const variablesPage = "../../docs/configuration.md"

// The page's table of members is what the struct says.
func TestDocumentedMembers(t *testing.T) {
	l, err := app.Sources{}.Load()
	must(t, err)
	var b strings.Builder
	b.WriteString("| member | variable | default | |\n| --- | --- | --- | --- |\n")
	for _, s := range l.Shown() {
		if s.Doc == "" {
			t.Errorf("%s has no words about it: give its field a doc tag", s.Member)
		}
		name, variable := strings.Replace(s.Member, "connections.simulator", "connections.NAME", 1), strings.Replace(s.Env, "CONNECTIONS_SIMULATOR", "CONNECTIONS_NAME", 1)
		if variable != "" {
			variable = "`" + variable + "`"
		}
		value := s.Value
		if value != "" {
			value = "`" + value + "`"
		}
		b.WriteString("| `" + name + "` | " + variable + " | " + value + " | " + s.Doc + oneOf(s.One) + " |\n")
	}
	before, rest, _ := cut(t, "<!-- members -->\n")
	_, after, found := strings.Cut(rest, "<!-- /members -->\n")
	if !found {
		t.Fatal("docs/configuration.md has no table between the marks members")
	}
	want := before + "<!-- members -->\n" + b.String() + "<!-- /members -->\n" + after
	if os.Getenv("UPDATE") != "" {
		must(t, os.WriteFile(variablesPage, []byte(want), 0o644))
	} else if before+"<!-- members -->\n"+rest != want {
		t.Error("docs/configuration.md is not what the struct says; run UPDATE=1 go test -run TestDocumentedMembers ./internal/app")
	}
}

func oneOf(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return ": `" + strings.Join(words, "`, `") + "`"
}

func cut(t *testing.T, mark string) (before, after string, found bool) {
	t.Helper()
	page, err := os.ReadFile(variablesPage)
	must(t, err)
	return strings.Cut(string(page), mark)
}
