package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"github.com/einmal/einmal/internal/store/sqlstore"
)

// Inspect looks at a store without changing it or making a file beside it. Beside a running gateway it reads as any
// reader does. Else nobody writes, and the file is read as it is: whatever opened it in another way could lay a log over it
// that is not its own.
func Inspect(ctx context.Context, path string, running bool) (*sqlstore.Inspection, error) {
	i := &sqlstore.Inspection{}
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(path + suffix)
		switch {
		case err == nil:
			i.Bytes += info.Size()
			i.LogLeft = suffix != "" && info.Size() > 0 && !running
		case suffix == "" || !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	if err := refuseForeignLog(ctx, path); err != nil {
		return i, named(path, err)
	}
	db, err := sql.Open("sqlite", readOnly(path, running))
	if err != nil {
		return i, err
	}
	err = db.QueryRowContext(ctx, "select sqlite_version()").Scan(&i.Version)
	if err == nil {
		err = i.Inspect(ctx, db, migrations)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		err = named(path, err)
	}
	return i, err
}

func readOnly(path string, running bool) string {
	mode := "?mode=ro&immutable=1"
	if running {
		mode = "?mode=ro&" + pragma("busy_timeout(3000)")
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + mode
}

// Backup writes a copy of the store to a file that is not there yet, whole and in one moment, also beside a running
// gateway, whose writes wait for nothing. The copy needs no log.
func Backup(ctx context.Context, path, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s is there already: name a file that is not", to)
	}
	if err := refuseForeignLog(ctx, path); err != nil {
		return named(path, err)
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&"+pragma("busy_timeout(3000)"))
	if err != nil {
		return err
	}
	unfinished := to + ".unfinished"
	if err := makePrivate(unfinished); err != nil {
		return errors.Join(err, db.Close())
	}
	_, err = db.ExecContext(ctx, "vacuum into ?", unfinished)
	if err = errors.Join(err, db.Close()); err == nil {
		err = sound(ctx, unfinished)
	}
	if err == nil {
		err = syncFile(unfinished)
	}
	if err == nil {
		err = os.Rename(unfinished, to)
	}
	if err != nil {
		return errors.Join(named(path, err), os.Remove(unfinished))
	}
	return nil
}

// makePrivate makes an empty file, which is what a copy may be written into, for its owner alone.
func makePrivate(name string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// sound reads the whole copy, each page and each index against its table.
func sound(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", readOnly(path, false))
	if err != nil {
		return err
	}
	var said string
	err = errors.Join(db.QueryRowContext(ctx, "pragma integrity_check(1)").Scan(&said), db.Close())
	if err == nil && said != "ok" {
		err = errors.New("the copy is damaged: " + said)
	}
	return err
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
