package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever reads a configuration with a mistake in it says where the mistake is, and no secret.
//
// covers: X7, D15
func TestNoCommandShowsSecretsOfAWrongConfiguration(t *testing.T) {
	const secret = "zq7Vex9k"
	commands := [][]string{{"serve"}, {"config"}, {"config", "--json"}, {"doctor"}, {"doctor", "--json"}, {"health"}, {"migrate"}, {"backup", filepath.Join(t.TempDir(), "copy.db")}}
	carrier := "connections:\n  carrier:\n    kind: smpp\n    address: smsc.example.net:2775\n    password: " + secret + "\n"
	for text, want := range map[string]string{
		carrier + "    bindz: 2\n":                                    "[6:5] unknown field",
		carrier + "    binds: many\n":                                 "[6:12] binds: from 1 to 100",
		"store: postgres://einmal:" + secret + "@h/d\nstroe: x\n":     "[2:1] unknown field",
		"store: postgres://einmal:" + secret + "@h/d\nlog: [debug]\n": "[2:6] ",
		"store: mysql://einmal:" + secret + "@h/d\n":                  "store: write sqlite",
	} {
		file := filepath.Join(t.TempDir(), "einmal.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range commands {
			m := newMachine(t, nil)
			m.app = realApp()
			code, out, errs := m.run(append(command, "--config", file)...)
			if said := out + errs; code == exitDone || !strings.Contains(said, want) || strings.Contains(said, secret) {
				t.Errorf("%v of %s: %d %s, want %s", command, text, code, said, want)
			}
		}
	}
}

// A store's address that cannot be read is not quoted either.
//
// covers: X7, D15
func TestNoCommandShowsAStoreThatCannotBeOpened(t *testing.T) {
	const secret = "zq7Vex9k"
	for _, url := range []string{"postgres://einmal:" + secret + "%zz@127.0.0.1/d", "postgres://einmal:" + secret + "@127.0.0.1:port/d", "postgres://einmal:" + secret + "@127.0.0.1/d?sslmode=" + secret} {
		for _, command := range []string{"serve", "doctor", "migrate"} {
			m := newMachine(t, nil)
			m.app = realApp()
			code, out, errs := m.run(command, "--data", filepath.Join(t.TempDir(), "data"), "--store", url, "--listen", "127.0.0.1:0")
			if said := out + errs; code == exitDone || !strings.Contains(said, "write postgres://user:password@host:port/database") || strings.Contains(said, secret) {
				t.Errorf("%s of %s: %d %s", command, url, code, said)
			}
		}
	}
}
