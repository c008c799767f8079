package tenant

import (
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
)

// Term is how long a number is leased: from Begins on, and until just before Ends.
type Term struct {
	Begins clock.Micros
	Ends   clock.Micros // 0: it has no end yet
}

// Overlaps reports whether two terms have a moment in common.
func (t Term) Overlaps(other Term) bool {
	if t.empty() || other.empty() {
		return false
	}
	return (t.Ends == 0 || other.Begins < t.Ends) && (other.Ends == 0 || t.Begins < other.Ends)
}

// empty says that a lease was ended before it began.
func (t Term) empty() bool { return t.Ends != 0 && t.Ends <= t.Begins }

// Ended is the term with another end; 0: with none. The past does not change: an end before now is now, unless the
// lease was over by then, and one before the lease begins is its beginning.
func (t Term) Ended(ends, now clock.Micros) Term {
	over := t.Ends != 0 && t.Ends <= now
	switch {
	case ends == 0:
		t.Ends = 0
	case !over || ends > now:
		t.Ends = max(ends, now, t.Begins)
	}
	return t
}

// Lease refuses a term of a number that has a moment in common with another one. A number has one tenant at a time:
// whose message came in on it would be nobody's to say.
func Lease(wanted Term, others []Term) error {
	if wanted.Ends != 0 && wanted.Ends < wanted.Begins {
		return fault.New(fault.State, "the lease would end before it begins: give an end that is to come")
	}
	for _, o := range others {
		if wanted.Overlaps(o) {
			return fault.New(fault.State, "the number is leased in that time already: choose another time, or end that lease first")
		}
	}
	return nil
}
