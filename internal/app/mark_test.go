package app

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/store"
)

// elsewhere are folders that are no temporary ones, as the mark's rules see it.
func elsewhere(t *testing.T) (work, states string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "states"))
	return filepath.Join(dir, "work"), filepath.Join(dir, "states")
}

// covers: D20
func TestWhereTheMarkIs(t *testing.T) {
	work, states := elsewhere(t)
	data := filepath.Join(work, "data")
	name := markName(data)
	if !strings.HasPrefix(name, "data-") || markName(filepath.Join(work, "other", "data")) == name {
		t.Errorf("two folders of one name have the same mark %s", name)
	}
	for want, c := range map[string]Config{
		"/m": {Mark: "/m", Data: data, Store: storeSQLite},
		filepath.Join(states, "einmal", "inst", name): {Data: data, Store: storeSQLite},
		filepath.Join(data, "einmal.mark"):            {Data: data, Store: "postgres://h/d"},
		filepath.Join(os.TempDir(), "data.mark"):      {Data: filepath.Join(os.TempDir(), "data"), Store: storeSQLite},
	} {
		if got := c.MarkPlaces("inst")[0]; got != want {
			t.Errorf("%+v: %s, want %s", c, got, want)
		}
	}
	if got := (Config{Data: filepath.Dir(states), Store: storeSQLite}).MarkPlaces("inst")[0]; within(got, filepath.Dir(states)) {
		t.Errorf("the mark is in the data folder: %s", got)
	}
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	if got := (Config{Data: data, Store: storeSQLite}).MarkPlaces("inst")[0]; got != data+".mark" {
		t.Errorf("without a home: %s", got)
	}
}

// A place that cannot be written is passed over, down to the data folder itself, which is warned of. One that was
// configured is not.
//
// covers: D20
func TestMarkThatCannotBeWritten(t *testing.T) {
	work, states := elsewhere(t)
	file := filepath.Join(filepath.Dir(states), "a-file")
	for _, dir := range []string{work, filepath.Dir(states)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", file)
	c := Config{Data: filepath.Join(work, "data"), Store: storeSQLite}
	m, path, err := openMark(c, "inst")
	if err != nil || path != c.Data+".mark" {
		t.Fatalf("%s: %v", path, err)
	}
	if _, _, err := openMark(c, "inst"); err == nil || !strings.Contains(err.Error(), "--mark") {
		t.Errorf("a mark in use is passed over: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	c.Mark = filepath.Join(file, "below")
	if _, _, err := openMark(c, "inst"); err == nil || !strings.Contains(err.Error(), "--mark") || !strings.Contains(err.Error(), c.Mark) {
		t.Errorf("a place that was configured: %v", err)
	}
	var log bytes.Buffer
	a := &App{cfg: Config{Data: work, Store: storeSQLite}, markPath: filepath.Join(work, "einmal.mark"), log: slog.New(slog.NewTextHandler(&log, nil))}
	a.tellMark(&store.Watched{})
	if !strings.Contains(log.String(), "the mark is in the data folder") {
		t.Errorf("nobody is warned: %s", &log)
	}
}
