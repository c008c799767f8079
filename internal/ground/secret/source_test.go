package secret_test

import (
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/ground/secret"
)

func fromMap(m map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := m[name]
		return v, ok
	}
}

// Keys come from a folder or from the environment, and are the same keys.
//
// covers: X7
func TestSources(t *testing.T) {
	var folder secret.Source = secret.FolderSource(filepath.Join(t.TempDir(), "keys"))
	if missing := folder.Missing(); len(missing) != 2 {
		t.Errorf("missing: %v", missing)
	}
	made, err := folder.Open()
	if err != nil || len(folder.Missing()) != 0 {
		t.Fatal(err, folder.Missing())
	}
	variables := map[string]string{"K_IDENTITY_KEY": hex.EncodeToString(made.Identity[:]), "K_SEALING_KEY": hex.EncodeToString(made.Sealing[:]) + "\n"}
	got, err := secret.EnvSource{Prefix: "K", Lookup: fromMap(variables)}.Open()
	if err != nil || *got != *made {
		t.Errorf("the environment's keys are others: %v", err)
	}
}

// A source that has not both keys, whole, gives none, and its error has nothing of them.
//
// covers: X7
func TestEnvironmentWithoutKeys(t *testing.T) {
	good := strings.Repeat("ab", secret.KeySize)
	for name, c := range map[string]struct {
		variables map[string]string
		want      string
	}{
		"none":    {nil, "no variable K_IDENTITY_KEY"},
		"one":     {map[string]string{"K_IDENTITY_KEY": good}, "no variable K_SEALING_KEY"},
		"empty":   {map[string]string{"K_IDENTITY_KEY": good, "K_SEALING_KEY": ""}, "no variable K_SEALING_KEY"},
		"short":   {map[string]string{"K_IDENTITY_KEY": good[2:], "K_SEALING_KEY": good}, "K_IDENTITY_KEY is no key"},
		"letters": {map[string]string{"K_IDENTITY_KEY": good, "K_SEALING_KEY": "zz" + good[2:]}, "K_SEALING_KEY is no key"},
	} {
		got, err := secret.EnvSource{Prefix: "K", Lookup: fromMap(c.variables)}.Open()
		if got != nil || err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "abab") {
			t.Errorf("%s: %v %v, want %q", name, got, err, c.want)
		}
	}
	if len((secret.EnvSource{Prefix: "K", Lookup: fromMap(nil)}).Missing()) != 0 {
		t.Error("a source that makes no keys has some missing")
	}
}
