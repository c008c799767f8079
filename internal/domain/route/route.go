// Package route says over which connection a message leaves: an ordered list of rules, of which the first that fits
// counts, and in it the first connection that can be used.
package route

import (
	"slices"
	"strings"

	"github.com/einmal/einmal/internal/ground/ident"
)

// Rule leads messages to connections. What is left open fits all of them.
type Rule struct {
	Purpose string
	Tenant  ident.Partition
	Prefix  string // of the destination: digits of E.164, without the plus sign
	Sender  string
	Use     []string // names of connections, in the order in which they are wanted
}

// Question is what a message is, as far as routes look at it.
type Question struct {
	Purpose     string
	Tenant      ident.Partition
	Destination string // E.164
	Sender      string
	Simulate    bool // it must not reach a phone: no rule is asked, and a simulator takes it
}

// Fits reports whether a rule is for a message.
func (r Rule) Fits(q Question) bool {
	return (r.Purpose == "" || r.Purpose == q.Purpose) && (r.Tenant == 0 || r.Tenant == q.Tenant) &&
		(r.Sender == "" || r.Sender == q.Sender) && strings.HasPrefix(strings.TrimPrefix(q.Destination, "+"), r.Prefix)
}

// FitsAll reports whether a rule is for every message. The last one of a list should be.
func (r Rule) FitsAll() bool {
	return r.Purpose == "" && r.Tenant == 0 && r.Prefix == "" && r.Sender == ""
}

// State is how a connection is at the moment.
type State int

// The states. One that is paused takes messages only where no other of its rule is usable: they wait, and leave when the
// pause is over.
const (
	Disabled State = iota // or not known
	Paused
	Usable
)

// Choose returns the name of a message's connection: "" if no rule fits, or none of the connections of the one that
// does is enabled. Rules behind the first that fits are not asked: they are for other messages.
func Choose(rules []Rule, q Question, state func(name string) State) string {
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.Fits(q) })
	if i < 0 {
		return ""
	}
	paused := ""
	for _, name := range rules[i].Use {
		switch state(name) {
		case Usable:
			return name
		case Paused:
			if paused == "" {
				paused = name
			}
		}
	}
	return paused
}
