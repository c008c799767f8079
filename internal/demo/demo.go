// Package demo shows in under a minute what a gateway does with double clicks, lost answers and receipts that come
// twice, late or not at all: it plays an application that goes wrong and a carrier that does, and then counts, on the
// side of the phones, whether the promises held. It talks to a gateway as any application does.
package demo

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"
)

// Gateway is where the demonstration is played. Its carrier must be the built-in simulator.
type Gateway struct {
	URL, Key string
	Ledger   string // the simulator's ledger; "": what the simulated handsets show is counted instead
}

// Told is a line of the narration.
type Told struct {
	Scene int    // from 1
	Story string // what happens, before it does; else ""
	Came  string // what came of it
}

// Run plays all scenes and counts. tell is called as they go.
func Run(ctx context.Context, g Gateway, tell func(Told)) (*Report, error) {
	s := newStage(g)
	defer s.http.CloseIdleConnections()
	if err := s.mayPlay(ctx); err != nil {
		return nil, err
	}
	begun := time.Now()
	r := &Report{Run: s.run, Counted: "the simulator's ledger"}
	if g.Ledger == "" {
		r.Counted = "the simulated handsets"
	}
	var all []*intent
	for i, sc := range scenes {
		tell(Told{Scene: i + 1, Story: sc.story})
		intents, err := sc.play(ctx, s)
		if err == nil {
			err = s.find(ctx, intents)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sc.name, err)
		}
		row := rowOf(sc.name, intents)
		r.Scenes = append(r.Scenes, row)
		all = append(all, intents...)
		tell(Told{Scene: i + 1, Came: row.sentence()})
	}
	r.sum(all)
	r.TookMs = time.Since(begun).Milliseconds()
	return r, nil
}

// stage is what the scenes play on.
type stage struct {
	gateway Gateway
	http    httpClient
	run     string // tells this demonstration's intents from every other's
	made    int
}

func newStage(g Gateway) *stage {
	var raw [3]byte
	_, _ = rand.Read(raw[:])
	return &stage{gateway: g, http: newHTTPClient(), run: hex.EncodeToString(raw[:])}
}

// mayPlay refuses to text real people, and to fail for want of a purpose.
func (s *stage) mayPlay(ctx context.Context) error {
	probe := s.order("20", "a dry run")
	probe.body["dry_run"] = true
	a, err := s.send(ctx, probe.body, "")
	switch {
	case err != nil:
		return err
	case a.Status == 400:
		return fmt.Errorf("the policy in force has not the purposes order_confirmation and alert as the built-in one has them: %s", a.Problem)
	case a.Status != 200:
		return fmt.Errorf("the gateway refuses a dry run with status %d: %s", a.Status, a.Problem)
	case !a.Simulated:
		return fmt.Errorf("this gateway sends to a real carrier: the demonstration would text people")
	}
	return nil
}
