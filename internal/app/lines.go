package app

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/route"
	"github.com/einmal/einmal/internal/engine/receipt"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

// lines are the connections of this node, and the routes that lead to them. Flows read them on their hot paths, so what
// is read is a copy that nobody changes; who changes something puts another in its place.
type lines struct {
	changing sync.Mutex // held by who brings what is administered into force
	begun    bool       // lines run; under changing
	now      atomic.Pointer[snapshot]
}

// snapshot is what is known at one moment.
type snapshot struct {
	all       []*line // by name
	byID      map[int64]*line
	byName    map[string]*line
	receiving map[int64]receipt.Connection
	routes    routes
}

func newLines() *lines {
	s := &lines{}
	s.now.Store(newSnapshot(map[int64]*line{}, routes{}))
	return s
}

func newSnapshot(byID map[int64]*line, to routes) *snapshot {
	s := &snapshot{byID: byID, routes: to, byName: make(map[string]*line, len(byID)), receiving: make(map[int64]receipt.Connection, len(byID))}
	for id, l := range byID {
		s.receiving[id] = receipt.Connection{
			Name: l.name, IDSpace: l.space, EchoesReference: l.profile.EchoesReference, Simulated: l.simulated(),
		}
		s.all, s.byName[l.name] = append(s.all, l), l
	}
	slices.SortFunc(s.all, func(a, b *line) int { return cmp.Compare(a.name, b.name) })
	return s
}

// put adds lines, each in the place of the one of its number, under routes.
func (s *lines) put(to routes, all ...*line) {
	byID := maps.Clone(s.now.Load().byID)
	for _, l := range all {
		byID[l.id] = l
	}
	s.now.Store(newSnapshot(byID, to))
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
	return !slices.ContainsFunc(s.all(), func(l *line) bool { return l.enabled && !l.simulated() })
}

// phones are the handsets of the simulated carriers, or none.
func (s *lines) phones() provider.Phones {
	var all phones
	for _, l := range s.all() {
		if r := l.run.Load(); r != nil && r.centre != nil {
			all = append(all, r.centre)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
}

// gauged are the lines as the gauges see them.
func (s *lines) gauged() (all []gauged) {
	for _, l := range s.all() {
		if !l.removed {
			all = append(all, gauged{l.id, l.name, l.status()})
		}
	}
	return all
}

// wake says that messages were made or changed.
func (s *lines) wake() {
	for _, l := range s.all() {
		if r := l.run.Load(); r != nil {
			r.dispatch.Wake()
		}
	}
}

// troubled says that no line works that should: the first one's trouble; "": at least one does.
func (s *lines) troubled() string {
	first := ""
	for _, l := range s.all() {
		switch why := l.trouble(); {
		case !l.enabled:
		case why == "":
			return ""
		case first == "":
			first = l.name + ": " + why
		}
	}
	return first
}

// choose answers a question of the routes with a line; nil: there is none that is enabled.
func (s *snapshot) choose(q route.Question) *line {
	rules := s.routes.rules
	if len(rules) == 0 {
		rules = s.routes.otherwise
	}
	name := route.Choose(rules, q, func(name string) route.State { return s.byName[name].state() })
	return s.byName[name]
}

// administered returns the line of what is administered, if it is of that version already.
func (s *snapshot) administered(c *store.ConnectionSetting) (have *line, same bool) {
	have = s.byID[c.ID]
	return have, have != nil && (have.source != fromAPI || have.changed.Version == c.Version)
}
