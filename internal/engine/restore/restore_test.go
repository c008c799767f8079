package restore

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// away is a store that fails, before or after it has said whether there is a release.
type away struct {
	Store
	release *store.Release // nil: it cannot be asked
}

var errAway = fault.New(fault.Unavailable, "the store is away")

func (s away) Incarnation(context.Context) (store.Incarnation, error) {
	if s.release == nil {
		return store.Incarnation{}, errAway
	}
	return store.Incarnation{Release: s.release}, nil
}

func (s away) DestroyOwnKeys(context.Context, int) (int, error) { return 0, errAway }

// A store that is away is no release that goes on: nothing is said of a release where none is known.
func TestOnlyAReleaseIsSpokenOf(t *testing.T) {
	for name, c := range map[string]struct {
		release *store.Release
		lines   int
	}{"no release is known": {nil, 0}, "a release": {&store.Release{Person: "ann", KeepPending: true}, 1}} {
		var log bytes.Buffer
		s := New(Config{Store: away{release: c.release}, Log: slog.New(slog.NewTextHandler(&log, nil))})
		s.look(t.Context())
		if got := strings.Count(log.String(), "the release of the store is not finished"); got != c.lines || c.lines == 0 && log.Len() > 0 {
			t.Errorf("%s: %q", name, log.String())
		}
	}
}
