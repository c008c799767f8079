// Package tenant has the rules of those who share an installation: their names, keys, users, senders and numbers.
package tenant

import (
	"regexp"

	"github.com/einmal/einmal/internal/ground/fault"
)

// State is a tenant's, or a user's. The numbers are stored.
type State uint8

// The states.
const (
	Active    State = 1
	Suspended State = 2 // a tenant: reads, and what is on its way goes on; a user: none of its keys works
)

var stateNames = map[State]string{Active: "active", Suspended: "suspended"}

// String returns the state's name in the API.
func (s State) String() string { return stateNames[s] }

// States lists the states' names.
func States() []string { return []string{stateNames[Active], stateNames[Suspended]} }

// ParseState reads a state's name; 0: there is none of that name.
func ParseState(name string) State {
	for s, n := range stateNames {
		if n == name {
			return s
		}
	}
	return 0
}

// A name stands in paths, in names of queues and in metrics, and never changes.
var name = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// RightName says what a tenant's name may be.
const RightName = "use 1 to 40 lower-case letters, digits and hyphens, no hyphen at either end, such as acme-shop"

// CheckName reports whether a new tenant may have the name.
func CheckName(s string) bool { return name.MatchString(s) }

// KeyKind is what a key is for. The numbers are stored.
type KeyKind uint8

// The kinds.
const (
	LiveKey KeyKind = 1 // sends
	TeamKey KeyKind = 2 // sends to the tenant's users and guests alone
	TestKey KeyKind = 3 // what it sends is simulated
)

var kindNames = map[KeyKind]string{LiveKey: "live", TeamKey: "team", TestKey: "test"}

// String returns the kind's name in the API.
func (k KeyKind) String() string { return kindNames[k] }

// Covers reports whether a key of this kind reaches whatever one of the other kind does. The numbers rise as less is reached.
func (k KeyKind) Covers(other KeyKind) bool { return k != 0 && k <= other }

// KeyKinds lists the kinds' names.
func KeyKinds() []string {
	return []string{kindNames[LiveKey], kindNames[TeamKey], kindNames[TestKey]}
}

// ParseKeyKind reads a kind's name; 0: there is none of that name.
func ParseKeyKind(name string) KeyKind {
	for k, n := range kindNames {
		if n == name {
			return k
		}
	}
	return 0
}

// MostLive is how many keys of one name a tenant may have that work: the one in use, and the one that replaces it.
const MostLive = 2

// RoomForKey refuses a key more of a name that has as many as it may.
func RoomForKey(live int) error {
	if live >= MostLive {
		return fault.New(fault.State, "%d keys of this name work already, which is as many as may: revoke one, or wait until the one that was replaced has ended", live)
	}
	return nil
}
