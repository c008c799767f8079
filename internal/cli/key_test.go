package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/ground/secret"
)

// A lost admin key has a way back that asks no gateway; a key that is there is not written over.
func TestKeyAdminWritesOneAndPrintsNone(t *testing.T) {
	m, data := newMachine(t, nil), t.TempDir()
	m.app = realApp()
	code, out, errs := m.run("key", "admin", "--data", data)
	b, err := os.ReadFile(filepath.Join(data, "admin.key"))
	if code != exitDone || err != nil {
		t.Fatalf("%d %s%s %v", code, out, errs, err)
	}
	key := strings.TrimSpace(string(b))
	if _, err := secret.ParseAPIKey(key); err != nil || strings.Contains(out+errs, key) {
		t.Errorf("%v; printed: %s%s", err, out, errs)
	}
	code, out, errs = m.run("key", "admin", "--data", data)
	if again, _ := os.ReadFile(filepath.Join(data, "admin.key")); code == exitDone || string(again) != string(b) || !strings.Contains(errs, "is there already") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}
