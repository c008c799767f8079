package sqlstore

import (
	"cmp"
	"slices"
	"time"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// target is the attempt that is meant: the one that the evidence named by itself, else the one that the person names, or
// the only one that it may belong to.
func target(x *exception.Exception, r *store.Resolution) (exception.Part, error) {
	own, known := x.Own()
	switch {
	case !slices.Contains(x.Permitted(), r.Action):
		return own, fault.New(fault.Invalid, "an exception of this kind cannot be resolved in this way: possible are %s", fault.List(x.Permitted()))
	case r.Action != exception.Attach:
		return own, nil
	case known && !r.To.Means(own):
		return own, fault.New(fault.State, "the evidence of this exception belongs to attempt %d, part %d of %s, which it names itself: it cannot be attached to another",
			own.Attempt, own.Part, own.Message)
	case known:
		return own, nil
	case !r.To.Message.IsZero():
		return candidate(x, r.To), nil
	case x.Message.IsZero():
		return own, fault.New(fault.Invalid, "this exception is about no message: name the one that the evidence belongs to")
	case len(x.Candidates) > 1:
		return own, fault.New(fault.Invalid, "%d attempts may be meant: name the message", len(x.Candidates))
	}
	return own, nil
}

// candidate fills in what a person left out, where one candidate alone can be meant.
func candidate(x *exception.Exception, to exception.Part) exception.Part {
	var fits []exception.Part
	for _, c := range x.Candidates {
		if to.Means(c) {
			fits = append(fits, c)
		}
	}
	if len(fits) == 1 {
		return fits[0]
	}
	return to
}

// resolvedBefore reports whether an exception was resolved in the very same way; else somebody was faster. Who said so
// first, and why, stays: a second person who says the same decides nothing else.
func resolvedBefore(x *exception.Exception, r *store.Resolution) (same bool, err error) {
	was := x.Resolution
	if x.State == exception.Actions[r.Action] && (r.Action != exception.Attach || r.State == was.State && attachedTo(x, r.To)) {
		return true, nil
	}
	how := x.State.String()
	if was.State != "" {
		how += " as " + was.State
	}
	by := cmp.Or(was.By, "the gateway itself")
	return false, fault.New(fault.State, "this exception was resolved before: %s by %s at %s", how, by, was.At.Time().UTC().Format(time.RFC3339))
}

// attachedTo reports whether the evidence was attached to what a person names now, or, where nothing is named, to the
// only attempt that it might belong to.
func attachedTo(x *exception.Exception, named exception.Part) bool {
	own, known := x.Own()
	if named.Message.IsZero() && !known {
		if len(x.Candidates) != 1 {
			return false
		}
		named = own
	}
	return named.Means(x.Resolution.To)
}
