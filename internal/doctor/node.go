package doctor

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/ground/settings"
	"github.com/einmal/einmal/internal/store/mark"
)

// variables finds those that a flag goes before: they set nothing.
func (e *examination) variables(context.Context) {
	set, idle := 0, 0
	given := map[string]bool{}
	for _, pair := range e.Sources.Environ {
		name, value, _ := strings.Cut(pair, "=")
		given[name] = value != ""
	}
	for _, s := range e.cfg.Shown() {
		switch {
		case s.Env == "" || !given[s.Env]:
		case s.Origin.Kind == settings.FromFlag:
			idle++
			e.say("variables", Warn, "leave one of them out", "%s sets nothing: the %s goes before it", s.Env, s.Origin)
		default:
			set++
		}
	}
	if idle == 0 {
		e.ok("variables", "variables that set something: %d; none that nobody knows", set)
	}
}

const (
	littleDisk = 1 << 30   // bytes: days of a small gateway
	noDisk     = 100 << 20 // bytes: a backup or a burst fills it
)

// folder looks at the data folder, and learns whether a gateway works there.
func (e *examination) folder(context.Context) {
	dir := e.cfg.Data
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.say("data", Warn, "einmal serve   (it makes the folder)", "the data folder %s is not there yet", dir)
		return
	case err != nil || !info.IsDir():
		e.say("data", Fail, "name a folder with --data", "%s cannot be used as the data folder", dir)
		return
	case info.Mode().Perm()&0o077 != 0:
		e.say("data", Warn, "chmod 700 "+dir, "others of this machine may look into the data folder %s", dir)
	default:
		e.ok("data", "the data folder %s is its owner's alone", dir)
	}
	if e.running, err = app.FolderInUse(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.say("data", Fail, "run it as the user that the gateway has", "its lock cannot be looked at: %s", oneLine(err))
	}
	e.disk("disk", dir)
}

func (e *examination) disk(check, dir string) {
	free, err := e.Free(dir)
	switch {
	case err != nil:
		e.say(check, Warn, "look at it yourself, with  df -h "+dir, "how much of the disk under %s is free cannot be seen: %s", dir, oneLine(err))
	case free < noDisk:
		e.say(check, Fail, "make room, or move the folder", "%s are free under %s: the store will stop taking requests", size(free), dir)
	case free < littleDisk:
		e.say(check, Warn, "make room, or move the folder", "%s are free under %s", size(free), dir)
	default:
		e.ok(check, "%s are free under %s", size(free), dir)
	}
}

// secrets looks at the keys. A folder that lacks them is not asked for any: that would make them.
func (e *examination) secrets(context.Context) {
	from := e.cfg.KeySource()
	if e.missing = strings.Join(from.Missing(), " and "); e.missing != "" {
		return // how bad that is the store knows: see matches
	}
	var err error
	if e.keys, err = from.Open(); err != nil {
		e.keys = nil
		e.say("keys", Fail, "bring them back from where you keep a copy", "%s", oneLine(err))
		return
	}
	e.ok("keys", "both are in %s, for the gateway alone", from)
}

// matches compares the keys with what the store knows of its own.
func (e *examination) matches(context.Context) {
	switch from := e.cfg.KeySource(); {
	case e.missing == "":
	case e.store != nil && e.store.Meta["identity_check"] != "":
		e.say("keys", Fail, "copy the folder keys of a node that has them, or bring back your copy of it", "%s does not hold %s, and the store has been written with them: einmal serve does not start", from, e.missing)
	default:
		e.say("keys", Warn, "einmal serve makes those of a new installation; else bring back the folder that belongs to the store", "%s does not hold %s", from, e.missing)
	}
	if e.keys == nil || e.store == nil {
		return
	}
	for _, one := range []struct{ name, known, ours string }{
		{"identity", e.store.Meta["identity_check"], secret.NewIdentity(e.keys.Identity).Check()},
		{"sealing", e.store.Meta["sealing_check"], secret.NewSealer(e.keys.Sealing, nil).Check()},
	} {
		switch {
		case one.known == "":
			e.say("keys", Warn, "einmal serve; if traffic waits then, einmal restored", "the store is new and knows no %s key", one.name)
		case one.known != one.ours:
			e.say("keys", Fail, "put the store's own keys back, or name the store that belongs to these", "the %s key of %s is not the store's", one.name, e.cfg.KeySource())
		default:
			e.ok("keys", "the %s key is the store's", one.name)
		}
	}
}

// mark looks for the file by which a store that went back in time is noticed.
func (e *examination) mark(context.Context) {
	if e.keys == nil {
		return
	}
	ours := app.Installation(secret.NewIdentity(e.keys.Identity))
	places := e.cfg.MarkPlaces(ours)
	for _, place := range places {
		seen, err := mark.Look(place)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			e.say("mark", Fail, "see docs/restore.md: remove it, and declare a restore if there was one", "the mark %s cannot be read: %s", place, oneLine(err))
		case seen.Installation != "" && seen.Installation != ours:
			e.say("mark", Warn, "name another file with --mark", "the mark %s is of another installation, and the next start replaces it", place)
		case e.embedded() && inside(place, e.cfg.Data):
			e.say("mark", Warn, "name a file outside with --mark", "the mark %s is in the data folder: a copy of the whole folder takes it along, and is not noticed when it is put back", place)
		default:
			e.ok("mark", "the mark is %s", place)
		}
		e.behindMark(seen.At)
		return
	}
	e.say("mark", Warn, "einmal serve   (it makes it; if the store was put back, run einmal restored first)", "there is no mark at %s: whether the store went back in time cannot be known", places[0])
}

// behindMark finds a clock that is before the last commit of this node.
func (e *examination) behindMark(last time.Time) {
	const slack = 10 * time.Second
	if last.Sub(e.Now()) > slack {
		e.say("clock", Fail, "set the clock, and keep it by NTP", "this machine's clock is %s before the last commit of its node", last.Sub(e.Now()).Round(time.Second))
	}
}

// clients looks for certificates that stand for a key that does not work.
func (e *examination) clients(context.Context) {
	if e.store == nil || e.store.Keys == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(e.cfg.Listen.Clients)) {
		if !e.store.Keys[e.cfg.Listen.Clients[name].Key] {
			e.say("clients", Warn, "write the id of a key that works, as  einmal key list  shows it", "listen.clients.%s.key is the id of no key that there is, or of one that is revoked: its certificate is refused", name)
		}
	}
}

func inside(path, folder string) bool {
	path, pathErr := filepath.Abs(path)
	folder, folderErr := filepath.Abs(folder)
	rel, err := filepath.Rel(folder, path)
	return errors.Join(pathErr, folderErr, err) == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
