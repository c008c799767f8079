package app

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/engine/receipt"
	"github.com/einmal/einmal/internal/provider"
)

// lines are the connections of this node. Flows read them on their hot paths, so what is read is a copy that nobody
// changes; who changes something puts another in its place.
type lines struct {
	changing sync.Mutex
	now      atomic.Pointer[snapshot]
}

// snapshot is what is known at one moment.
type snapshot struct {
	all       []*line // by name
	byID      map[int64]*line
	receiving map[int64]receipt.Connection
}

func newLines() *lines {
	s := &lines{}
	s.now.Store(newSnapshot(nil))
	return s
}

func newSnapshot(byID map[int64]*line) *snapshot {
	s := &snapshot{byID: byID, receiving: make(map[int64]receipt.Connection, len(byID))}
	for id, l := range byID {
		s.receiving[id] = receipt.Connection{
			Name: l.name, IDSpace: l.space, EchoesReference: l.profile.EchoesReference, Simulated: l.simulated(),
		}
		s.all = append(s.all, l)
	}
	slices.SortFunc(s.all, func(a, b *line) int { return cmp.Compare(a.name, b.name) })
	return s
}

// put adds a line, or puts it in the place of the one of the same number.
func (s *lines) put(l *line) {
	s.changing.Lock()
	defer s.changing.Unlock()
	byID := maps.Clone(s.now.Load().byID)
	if byID == nil {
		byID = map[int64]*line{}
	}
	byID[l.id] = l
	s.now.Store(newSnapshot(byID))
}

func (s *lines) all() []*line { return s.now.Load().all }

// get is nil for a connection that this node does not know.
func (s *lines) get(id int64) *line { return s.now.Load().byID[id] }

func (s *lines) receiving() map[int64]receipt.Connection { return s.now.Load().receiving }

func (s *lines) profile(id int64) (p evidence.Profile) {
	if l := s.get(id); l != nil {
		p = l.profile
	}
	return p
}

func (s *lines) reader(id int64) provider.Reader {
	if l := s.get(id); l != nil {
		return l.reader
	}
	return nil
}

// means is what is declared of the word "delivered".
func (s *lines) means(id int64) string {
	if l := s.get(id); l != nil {
		return l.cfg.Receipts.DeliveredMeans
	}
	return ""
}

func (s *lines) simulated(id int64) bool {
	l := s.get(id)
	return l != nil && l.simulated()
}

func (s *lines) allSimulated() bool {
	return !slices.ContainsFunc(s.all(), func(l *line) bool { return !l.simulated() })
}

// phones are the handsets of the simulated carrier, or none.
func (s *lines) phones() provider.Phones {
	for _, l := range s.all() {
		if l.centre != nil {
			return l.centre
		}
	}
	return nil
}

// gauged are the lines as the gauges see them.
func (s *lines) gauged() (all []gauged) {
	for _, l := range s.all() {
		all = append(all, gauged{l.id, l.name, l.status()})
	}
	return all
}

// wake says that messages were made or changed.
func (s *lines) wake() {
	for _, l := range s.all() {
		l.dispatch.Wake()
	}
}

func (s *lines) closeCentres() error {
	var errs []error
	for _, l := range s.all() {
		errs = append(errs, l.closeCentre())
	}
	return errors.Join(errs...)
}

// openLines makes the lines of the configuration. Nothing runs yet.
func (a *App) openLines(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(a.cfg.Connections)) {
		l, err := a.openLine(ctx, name, a.cfg.Connections[name])
		if err != nil {
			return err
		}
		a.lines.put(l)
	}
	return nil
}

func (a *App) startLines(ctx context.Context) error {
	for _, l := range a.lines.all() {
		if err := a.startLine(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// stopLines stops all of them at the same time, so that each has all of ctx.
func (a *App) stopLines(ctx context.Context) error {
	all := a.lines.all()
	errs := make([]error, len(all))
	var done sync.WaitGroup
	for i, l := range all {
		done.Go(func() { errs[i] = l.dispatch.Stop(ctx) })
	}
	done.Wait()
	return errors.Join(errs...)
}
