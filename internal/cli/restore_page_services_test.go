//go:build services

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/store/storetest"
)

// The page's commands do what it says on PostgreSQL, too, with the server's own tools.
//
// covers: D20
func TestRestorePageOnPostgreSQL(t *testing.T) {
	store, dump := storetest.PostgresDatabase(t), filepath.Join(t.TempDir(), "copy.dump")
	restored := *store
	restored.Path += "_restored"
	words := strings.NewReplacer("copy.dump", dump, "einmal_restored", restored.Path[1:])
	page := pageCommands(t, "restore.md", "backup-postgres")
	if len(page) != 3 {
		t.Fatalf("the page has %q", page)
	}
	shell := func(command string) {
		t.Helper()
		c := exec.Command("sh", "-c", words.Replace(command))
		c.Env = append(os.Environ(), "STORE="+store.String(), "RESTORED="+restored.String())
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	o := newOperated(t)
	o.more = []string{"--store", store.String()}
	t.Cleanup(func() { shell(`dropdb --force --maintenance-db="$STORE" einmal_restored`) })
	followRestorePage(t, o, func() func() {
		shell(page[0][0])
		return func() {
			shell(page[1][0])
			shell(page[2][0])
			o.more = []string{"--store", restored.String()}
		}
	})
}
