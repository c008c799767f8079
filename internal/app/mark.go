package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/mark"
)

// openMark opens the file that is kept beside the store (D20): the one that is configured, or the first place that
// can be used. A place that cannot be written is passed over; a mark that is damaged or in use is not.
func openMark(c Config, installation string) (*mark.File, string, error) {
	var unusable []error
	for _, path := range c.MarkPlaces(installation) {
		m, err := mark.Open(path, installation)
		if err == nil || !unwritable(err) {
			return m, path, err
		}
		unusable = append(unusable, err)
	}
	return nil, "", errors.Join(append(unusable, errors.New("name a file for the mark with --mark, outside of what backups copy"))...)
}

func unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOTDIR)
}

// MarkPlaces lists where the mark may be, the best place first.
//
// A server is nowhere near the data folder, and that is beside it. The embedded store is in the data folder, so its
// mark is in the user's folder of states, by installation: a copy that is put back under another name is noticed,
// and a data folder that is thrown away and made anew, with new keys, is another installation. A data folder among
// the temporary files has its mark beside it, to be thrown away together. Where nothing else can be written the mark
// is in the data folder, and notices what is put back of the store alone.
func (c Config) MarkPlaces(installation string) []string {
	inside := filepath.Join(c.Data, "einmal"+mark.Suffix)
	if c.Mark != "" {
		return []string{c.Mark}
	}
	if c.Store != storeSQLite {
		return []string{inside}
	}
	data, err := filepath.Abs(c.Data)
	if err != nil {
		data = c.Data
	}
	beside := data + mark.Suffix
	if within(data, os.TempDir()) {
		return []string{beside}
	}
	places := []string{beside, inside}
	if states := stateFolder(); states != "" && !within(states, data) {
		places = append([]string{filepath.Join(states, "einmal", installation, markName(data))}, places...)
	}
	return places
}

// markName tells data folders apart, for people too.
func markName(data string) string {
	sum := sha256.Sum256([]byte(data))
	return filepath.Base(data) + "-" + hex.EncodeToString(sum[:4]) + mark.Suffix
}

// stateFolder is where programs of this user keep what is to outlive them (XDG Base Directory Specification); "":
// there is none.
func stateFolder() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, ".local", "state")
}

// within reports whether a path is in a folder, or is it.
func within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// watchedStore is a store with its mark.
type watchedStore struct {
	store.Store
	mark *mark.File
}

// Close closes both, the mark last: it follows what the store has acknowledged.
func (w watchedStore) Close() error { return errors.Join(w.Store.Close(), w.mark.Close()) }

// OpenWatched opens the store as a running gateway has it, with a mark beside it, for whoever measures that.
func OpenWatched(ctx context.Context, c Config, log *slog.Logger) (store.Store, error) {
	s, err := OpenStore(ctx, c, log, nil)
	if err != nil {
		return nil, err
	}
	m, _, err := openMark(c, "nobody's")
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	w := watchedStore{s, m}
	if _, err := s.Watch(ctx, m); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Installation is the name by which marks know the installation that an identity key is of.
func Installation(id *secret.Identity) string {
	const shown = 16 // of the check value's digits
	return id.Check()[:shown]
}

// orphan is why traffic waits at a store that is new where its keys are not.
const orphan = "it is empty, and its keys are not new: its own store is missing. Put that back, or begin anew with  einmal restored"

// watch compares the store with its mark before anything else is written to it.
func (a *App) watch(ctx context.Context, orphaned bool) (err error) {
	if a.mark, a.markPath, err = openMark(a.cfg, Installation(a.identity)); err != nil {
		return err
	}
	if orphaned {
		if err := a.store.HoldTraffic(ctx, orphan); err != nil {
			return err
		}
	}
	w, err := a.store.Watch(ctx, a.mark)
	if err == nil {
		a.why = w.Why
		a.tellMark(&w)
	}
	return err
}

// tellMark says what is worth knowing about the mark, and above all that traffic waits.
func (a *App) tellMark(w *store.Watched) {
	log := a.log.With("mark", a.markPath)
	switch {
	case w.Held():
		log.Error("the store went back in time: nothing is taken or sent until  einmal restored", "why", w.Why)
	case w.Unmarked && a.fresh:
		log.Info("a mark is kept beside the store, by which an older copy of it is noticed")
	case w.Unmarked:
		log.Warn("there was no mark beside the store: whether it went back in time before this start this node cannot know, and it goes on from where the store is")
	}
	data, err := filepath.Abs(a.cfg.Data)
	path, pathErr := filepath.Abs(a.markPath)
	if errors.Join(err, pathErr) == nil && a.cfg.Store == storeSQLite && within(path, data) {
		log.Warn("the mark is in the data folder: a copy of the whole folder takes it along, and is not noticed when it is put back; name another place with --mark")
	}
}
