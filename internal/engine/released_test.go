package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/engine/restore"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// A release that ends in the middle leaves nothing to be claimed, and says what is left. Whoever goes on with it marks
// the rest, and nothing twice.
//
// covers: D20, I19
func TestReleaseIsInterrupted(t *testing.T) {
	const many = 600 // more than two pages
	g, service, waiting := heldGateway(t, many)
	dies, die := context.WithCancel(t.Context())
	first := restore.New(restore.Config{Store: g.store, Committed: die, Log: slog.New(slog.DiscardHandler)})
	must(t, first.Release(t.Context(), restore.Ask{Person: "ann", Reason: "disk"}))
	if err := first.Finish(dies); !errors.Is(err, context.Canceled) {
		t.Fatalf("it is not interrupted: %v", err)
	}
	ctx := t.Context()
	left, err := service.Survey(ctx, 0)
	must(t, err)
	if !left.Held() || left.Release == nil || left.InDoubt.N == 0 || left.InDoubt.N >= many || left.Waiting.N != left.InDoubt.N || left.First[0].State != message.Pending {
		t.Errorf("in the middle the survey says %+v, %d, %+v", left.Waiting, len(left.First), left.InDoubt)
	}
	claims, err := g.store.Claim(ctx, store.ClaimSpec{Node: ident.NewNode(), Connection: g.conn, Lease: time.Minute, Room: flow.Room{All: many, Lower: many}})
	if err != nil || len(claims.Taken) != 0 {
		t.Errorf("%d messages are claimed before all is marked: %v", len(claims.Taken), err)
	}
	must(t, service.Finish(ctx))
	t.Cleanup(g.startNode(context.Background()))
	fresh := g.send(g.submission("fresh", number("00")))[0]
	g.await("the fresh message", func() bool { return g.message(fresh).State == message.Delivered })
	for _, id := range waiting {
		if kinds := g.events(id); len(kinds) != 2 || kinds[1] != "restored:unknown" {
			t.Fatalf("the history of %s is %v", id, kinds)
		}
	}
	if got := g.taken(); got["Hello fresh"] != 1 || len(got) != 1 {
		t.Errorf("the message centre took %v", got)
	}
}

// crowded is a store in which very much waits, and which counts what is listed.
type crowded struct {
	restore.Store
	release *store.Release
	listed  int
}

const veryMany = 3_000_000

func (c *crowded) Incarnation(context.Context) (store.Incarnation, error) {
	return store.Incarnation{HeldAt: 1, Release: c.release}, nil
}

func (c *crowded) Now(context.Context) (clock.Micros, error) { return 1000, nil }

func (c *crowded) CountUnfinished(_ context.Context, most int) (waiting, sending int, err error) {
	return min(most, veryMany), min(most, 5), nil
}

func (c *crowded) Unfinished(_ context.Context, _ store.Cursor, limit int) ([]store.Unfinished, store.Cursor, error) {
	page := make([]store.Unfinished, limit)
	for i := range page {
		c.listed++ // each second one was taken after the time that is asked for
		page[i] = store.Unfinished{State: message.Pending, CreatedAt: clock.Micros(c.listed % 2 * 100), ValidUntil: 1000}
	}
	return page, store.Cursor{Queue: 16}, nil
}

// Whoever asks what is in doubt does not wait until all of it was looked at. While a release is under way the question
// is that about the release.
//
// covers: D20
func TestSurveyOfVeryManyEnds(t *testing.T) {
	half, all := restore.Count{N: 5_000, More: true}, restore.Count{N: 1_000_005, More: true}
	for name, c := range map[string]struct {
		release *store.Release
		asOf    clock.Micros
		want    restore.Count
		most    int // is listed
	}{
		"of a copy of which nothing is known": {nil, 0, all, 100},
		"of a copy of a known time":           {nil, 50, half, 10_000},
		"under way":                           {&store.Release{}, 0, all, 100},
		"under way, as of a time":             {&store.Release{AsOf: 50}, 0, half, 10_000},
		"under way, and all is kept":          {&store.Release{KeepPending: true}, 0, restore.Count{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &crowded{release: c.release}
			v, err := restore.New(restore.Config{Store: s}).Survey(t.Context(), c.asOf)
			must(t, err)
			if v.InDoubt != c.want || s.listed > c.most || len(v.First) != min(c.most, 100) {
				t.Errorf("in doubt are %+v, of which %d are shown; %d were listed", v.InDoubt, len(v.First), s.listed)
			}
			if v.Waiting != (restore.Count{N: 1_000_000, More: true}) || v.Sending != (restore.Count{N: 5}) {
				t.Errorf("%+v wait, %+v are being sent", v.Waiting, v.Sending)
			}
		})
	}
}
