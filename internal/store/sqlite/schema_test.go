package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/sqlite"
	"github.com/einmal/einmal/internal/store/sqlstore"
	"github.com/einmal/einmal/internal/store/storetest"
)

// schema is a database that releases take over from each other.
func schema(t *testing.T) storetest.Schema {
	t.Helper()
	path := filepath.Join(t.TempDir(), "einmal.db")
	return storetest.Schema{
		Files: os.DirFS("."),
		Open: func() (store.Store, error) {
			return sqlite.Open(context.Background(), sqlite.Options{Path: path})
		},
		Migrate: func(files fs.FS) (int64, error) {
			db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)")
			if err != nil {
				return 0, err
			}
			known, err := sqlstore.Migrate(context.Background(), db, sqlstore.SQLite, files)
			return known, errors.Join(err, db.Close())
		},
	}
}

func TestSchemaAhead(t *testing.T) { storetest.SchemaAhead(t, storetest.Harness{}, schema(t)) }

func TestOldReaders(t *testing.T) { storetest.OldReaders(t, schema(t)) }
