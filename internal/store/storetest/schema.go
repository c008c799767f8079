package storetest

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// Schema is a database whose schema other releases change.
type Schema struct {
	Files fs.FS // this release's migrations
	// Open opens the store as this release does. Migrate has a release with other migrations bring the schema up to its own,
	// and returns the version that that release knows.
	Open    func() (store.Store, error)
	Migrate func(files fs.FS) (int64, error)
}

// releaseOf has the migrations of a release: this one's up to a version, and more.
func (s Schema) releaseOf(t *testing.T, upTo int64, more map[string]string) fs.FS {
	t.Helper()
	all := fstest.MapFS{}
	entries, err := fs.ReadDir(s.Files, "migrations")
	must(t, err)
	for _, e := range entries {
		name := path.Join("migrations", e.Name())
		number, _, _ := strings.Cut(e.Name(), "_")
		n, err := strconv.ParseInt(number, 10, 64)
		must(t, err)
		text, err := fs.ReadFile(s.Files, name)
		must(t, err)
		if n <= upTo {
			all[name] = &fstest.MapFile{Data: text}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		all["migrations/"+name] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + more[name])}
	}
	return all
}

const (
	allOfThem = 8999 // is above any migration of this release
	additive  = "create table next_release (id bigint primary key);\nalter table bind_node add column next_column bigint;\n"
	breaking  = "update meta set value = '9002' where name = 'schema.min_reader';\n"
)

// SchemaAhead has a newer release change the schema under this one. What only adds to it this release works beside, and
// starts on; what it cannot live with stops it at once, and keeps it from starting.
//
// covers: I1
func SchemaAhead(t *testing.T, h Harness, s Schema) {
	ctx := context.Background()
	running, err := s.Open()
	must(t, err)
	w := worldOn(t, h, running)
	next := map[string]string{"09001_next.sql": additive}
	if known, err := s.Migrate(s.releaseOf(t, allOfThem, next)); err != nil || known != 9001 {
		t.Fatalf("the next release: %d, %v", known, err)
	}
	must(t, running.Ping(ctx))
	if _, err := running.ControlVersion(ctx); err != nil {
		t.Errorf("an additive migration under a running release: %v", err)
	}
	w.settle(w.outcome(w.attempt(ask{event: "beside", version: "1", to: 1}), message.OutcomeAccepted, "beside"))
	must(t, running.Close())

	running, err = s.Open()
	must(t, err)
	defer func() { must(t, running.Close()) }()
	w = worldAgain(t, h, running)
	w.settle(w.outcome(w.attempt(ask{event: "started", version: "1", to: 2}), message.OutcomeAccepted, "started"))
	if running.Ping(ctx) != nil {
		t.Error("a release that was started on the schema of the next one is not ready")
	}

	next["09002_break.sql"] = breaking
	if known, err := s.Migrate(s.releaseOf(t, allOfThem, next)); err != nil || known != 9002 {
		t.Fatalf("the release after the next: %d, %v", known, err)
	}
	expectTooOld(t, "a running release", running.Ping(ctx))
	_, err = running.ControlVersion(ctx)
	expectTooOld(t, "a node that asks what has changed", err)
	if _, err := running.Decide(ctx, []store.Submission{w.submission(ask{event: "after", version: "1", to: 3})}, intent.Decide); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a decision on a schema that this release cannot work on: %v", err)
	}
	_, err = s.Open()
	expectTooOld(t, "a start", err)
}

func expectTooOld(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "version 9002") || !strings.Contains(err.Error(), "start a newer release") {
		t.Errorf("%s on a schema for others: %v", what, err)
	}
}

// reader says whether releases from before a migration can work on what it makes, and why.
type reader struct {
	can bool
	why string
}

// readers has every migration since the schema says who can work on it. Who adds one thinks about the releases that run
// beside it, and on the way back: do their statements still run, and is what they write, and leave unwritten, still right?
var readers = map[int64]reader{
	21: {false, "a release from before sends without a price and a charge (19), tells no endpoint (18), does not know connections that are administered (20), and takes binds that are another node's share"},
	22: {true, "what becomes partitioned takes the same statements, receipt.seq its default; who forgets no history leaves it to others"},
	25: {true, "it only adds indexes and counts groups anew; a release from before forgets of old exceptions and deliveries what it always forgot"},
}

// readersAreSaid holds each migration to what readers says of it: one that others cannot live with raises
// schema.min_reader to its own number, and no other one touches it.
func readersAreSaid(t *testing.T, files fs.FS) {
	first := slices.Min(slices.Collect(maps.Keys(readers)))
	entries, err := fs.ReadDir(files, "migrations")
	must(t, err)
	for _, e := range entries {
		number, _, _ := strings.Cut(e.Name(), "_")
		n, err := strconv.ParseInt(number, 10, 64)
		must(t, err)
		text, err := fs.ReadFile(files, path.Join("migrations", e.Name()))
		must(t, err)
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		said, there := readers[n]
		raises := strings.Contains(up, "schema.min_reader") && strings.Contains(up, "'"+strconv.FormatInt(n, 10)+"'")
		switch {
		case n >= first && !there:
			t.Errorf("migration %s: say in storetest.readers whether a release from before it can work on the schema that it makes, and why", e.Name())
		case there && said.can && strings.Contains(up, "schema.min_reader"):
			t.Errorf("migration %s touches schema.min_reader, though releases from before it can live with it: %s", e.Name(), said.why)
		case there && !said.can && !raises:
			t.Errorf("migration %s does not raise schema.min_reader to %d, and a release from before it cannot live with it: %s", e.Name(), n, said.why)
		}
	}
}

// OldReaders has former releases start on this release's schema: those that it says can work on it do.
func OldReaders(t *testing.T, s Schema) {
	readersAreSaid(t, s.Files)
	current, err := s.Open()
	must(t, err)
	text, err := current.Meta(context.Background(), "schema.min_reader")
	must(t, err)
	must(t, current.Close())
	oldest, err := strconv.ParseInt(text, 10, 64)
	must(t, err)
	if known, err := s.Migrate(s.releaseOf(t, oldest, nil)); err != nil || known != oldest {
		t.Errorf("the release of version %d knows %d: %v", oldest, known, err)
	}
	// A migration that raised it to that number did so because the release before it cannot live with it.
	if _, err := s.Migrate(s.releaseOf(t, oldest-1, nil)); err == nil || !strings.Contains(err.Error(), "start a newer release") {
		t.Errorf("a release from before version %d: %v", oldest, err)
	}
}
