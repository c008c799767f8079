package app

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/einmal/einmal/internal/domain/phone"
	"github.com/einmal/einmal/internal/domain/route"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Route is a rule that leads messages to connections. The first that fits counts; what is left open fits all.
type Route struct {
	Purpose string   `yaml:"purpose,omitempty" json:"purpose,omitempty"`
	Tenant  string   `yaml:"tenant,omitempty" json:"tenant,omitempty"`
	Prefix  string   `yaml:"prefix,omitempty" json:"prefix,omitempty"` // of the destination in E.164, without the plus sign
	Sender  string   `yaml:"sender,omitempty" json:"sender,omitempty"`
	Use     []string `yaml:"use" json:"use"` // connections, the one that is wanted most first
}

// mostRoutes bounds a list: each message may be held against each rule.
const mostRoutes = 1000

var routePrefix = regexp.MustCompile(`^[1-9][0-9]{0,14}$`)

// checkRoutes finds what cannot work, with what would be right. known are the names that may be used.
func checkRoutes(all []Route, known func(name string) bool) error {
	if len(all) > mostRoutes {
		return fmt.Errorf("at most %d rules", mostRoutes)
	}
	for i, r := range all {
		if err := r.check(known); err != nil {
			return fmt.Errorf("%s: %w", ruleWords(i), err)
		}
		if last := i == len(all)-1; r.fitsAll() && !last {
			return fmt.Errorf("rule %d fits every message, and rule %d is never reached: put it last", i+1, i+2)
		} else if !r.fitsAll() && last {
			return fmt.Errorf("no rule is for messages that none of these fits: add a last rule {use: [%s]}", r.Use[0])
		}
	}
	return nil
}

func ruleWords(i int) string { return fmt.Sprintf("rule %d", i+1) }

func (r Route) fitsAll() bool { return r.Purpose+r.Tenant+r.Prefix+r.Sender == "" }

func (r Route) check(known func(name string) bool) error {
	if r.Prefix != "" && !routePrefix.MatchString(r.Prefix) {
		return fmt.Errorf("prefix: write the digits of E.164 with which destinations begin, without a plus sign, such as 49 or 4915")
	}
	if _, err := phone.ParseSender(r.Sender); r.Sender != "" && err != nil {
		return fmt.Errorf("sender: %w", err)
	}
	if len(r.Use) == 0 {
		return fmt.Errorf("use: name at least one connection")
	}
	for i, name := range r.Use {
		switch {
		case !known(name):
			return fmt.Errorf("use: there is no connection %q", name)
		case slices.Contains(r.Use[:i], name):
			return fmt.Errorf("use: %s is there twice", name)
		}
	}
	return nil
}

// checkRouting finds connections that no route leads to, where one has to.
func (c Config) checkRouting() error {
	if len(c.Connections) > 1 && len(c.Routes) == 0 {
		return fmt.Errorf("routes: missing: %d connections are named; say which messages leave over which, and end with a rule for all others, such as {use: [%s]}",
			len(c.Connections), c.names()[0])
	}
	err := checkRoutes(c.Routes, func(name string) bool { _, there := c.Connections[name]; return there })
	if err != nil {
		return fmt.Errorf("routes: %w", err)
	}
	return nil
}

// routes are the routes in force on a node.
type routes struct {
	rules     []route.Rule
	otherwise []route.Rule // where there are no rules: to the connection of the configuration
	source    string       // fromFile, fromAPI or fromDefault
	shown     []Route
	changed   store.Changed
}

// resolveRoutes resolves the names of tenants. One that does not exist has no messages; the rule waits for it.
func (a *App) resolveRoutes(all []Route, tenants map[ident.Partition]string) []route.Rule {
	rules := make([]route.Rule, 0, len(all))
	for _, r := range all {
		one := route.Rule{Purpose: r.Purpose, Prefix: r.Prefix, Use: r.Use}
		if sender, err := phone.ParseSender(r.Sender); err == nil {
			one.Sender = sender.String()
		}
		if r.Tenant != "" {
			if one.Tenant = partitionOf(tenants, r.Tenant); one.Tenant == 0 {
				a.log.Warn("a route is for a tenant that does not exist", "tenant", r.Tenant)
				continue
			}
		}
		rules = append(rules, one)
	}
	return rules
}

func partitionOf(tenants map[ident.Partition]string, name string) ident.Partition {
	for id, n := range tenants {
		if n == name {
			return id
		}
	}
	return 0
}

// route chooses a message's connection. What must not reach a phone goes to a simulator, whatever the routes say.
func (a *App) route(ctx context.Context, q route.Question) (outbound.Connection, error) {
	if q.Simulate {
		l, err := a.simulator(ctx)
		if err != nil {
			return outbound.Connection{}, err
		}
		return l.outbound(), nil
	}
	l := a.lines.now.Load().choose(q)
	if l == nil {
		return outbound.Connection{}, fault.New(fault.Unavailable, "no connection to which the routes lead is enabled; nothing was reserved").After(routeAfter)
	}
	return l.outbound(), nil
}

// routeAfter is when a message may come again that no connection takes: people change that, and not within a second.
const routeAfter = 30 * time.Second

func (l *line) outbound() outbound.Connection {
	return outbound.Connection{ID: l.id, Long: l.cfg.Long.limits(), ReceiptTime: time.Duration(l.cfg.Receipts.Time)}
}

// simulator is a line that is one: the one of that name, else the oldest. Where there is none, the first message that
// needs one makes it, for all nodes, as an administered connection: an installation without test keys has none, and who
// has some sees it among the connections.
func (a *App) simulator(ctx context.Context) (*line, error) {
	if l := a.anySimulator(); l != nil {
		return l, nil
	}
	if err := a.addSimulator(ctx); err != nil {
		return nil, err
	}
	if l := a.anySimulator(); l != nil {
		return l, nil
	}
	return nil, fault.New(fault.Unavailable, "messages of test keys go to a simulator, and none is enabled: einmal connection enable %s", kindSimulator).After(routeAfter)
}

func (a *App) anySimulator() *line {
	all := slices.DeleteFunc(slices.Clone(a.lines.all()), func(l *line) bool { return !l.simulated() || !l.enabled })
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b *line) int {
		return cmp.Or(oneOr(a.name == kindSimulator)-oneOr(b.name == kindSimulator), cmp.Compare(a.id, b.id))
	})
}

// oneOr puts what is true first.
func oneOr(first bool) int {
	if first {
		return 0
	}
	return 1
}
