package policy

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/einmal/einmal/internal/ground/fault"
)

// Version is a version of a policy file that somebody brings: a node that starts, or a person.
type Version struct {
	Name    string
	Version int
	Source  []byte
}

// ID names it, such as "shop@7".
func (v Version) ID() string { return fmt.Sprintf("%s@%d", v.Name, v.Version) }

// Known is what is known when a version is brought.
type Known struct {
	// Head is the policy in force; Name "": none is.
	Head Version // without its source
	// Stored is the file that is stored under the version's name and number; nil: none is.
	Stored []byte
	// Newest is the newest version of its name that was ever in force; 0: none was.
	Newest int
}

// Why a version does not come into force.
var (
	ErrOtherContent = errors.New("the version is stored with another content")
	ErrOlder        = errors.New("the version was in force already, or a newer one was")
)

// Succeed decides whether a version comes into force. It does if it is newer than all of its name that were in force:
// decisions name their version, so that each name stands for one content and one stretch of time, and several nodes
// that start with different files do not take turns. changes is false for the version that is in force already.
func Succeed(v Version, k Known) (changes bool, err error) {
	next := max(k.Newest, v.Version) + 1
	switch {
	case k.Stored != nil && !bytes.Equal(k.Stored, v.Source):
		return false, fault.Wrap(ErrOtherContent, fault.State,
			"%s is stored with another content, and a stored version never changes: give this file the version %d", v.ID(), next)
	case k.Head.Name == v.Name && k.Head.Version == v.Version:
		return false, nil
	case v.Version <= k.Newest:
		return false, fault.Wrap(ErrOlder, fault.State,
			"%s@%d was in force already, and versions of a name only grow, since decisions are known by them: to go back to the content of %s, give it the version %d",
			v.Name, k.Newest, v.ID(), next)
	}
	return true, nil
}

// SucceedBuiltin is Succeed for the gateway's own policy: it takes no other one's place.
func SucceedBuiltin(v Version, k Known) (changes bool, err error) {
	if k.Head.Name != "" && k.Head.Name != v.Name {
		return false, nil
	}
	if k.Head.Version >= v.Version {
		return false, nil // another release of the gateway brought a newer one, or this very one
	}
	return Succeed(v, k)
}
