package flow

import "math"

// Room is how many messages may be taken.
type Room struct {
	All   int
	Lower int // at most so many of them of other lanes than the urgent one
}

const (
	// MostAtOnce is how many messages one claim takes at most.
	MostAtOnce = 256
	// LowerAhead is how many messages of other lanes than the urgent one may be claimed and not yet handed to the
	// provider: whoever comes now waits for no more of a flood that was alone until now.
	LowerAhead = 128
	// keptPart of the window is the urgent lane's: a tenth, and one place at least if there are two.
	keptPart = 10
)

// Window is how full a connection is on one node.
type Window struct {
	Free                    int // places at the provider
	Flying, FlyingLower     int // messages there; and of lanes that are not urgent
	Reserved, ReservedLower int // claimed and not there yet
	Pace                    float64
}

// Room is what the window has room for.
func (w Window) Room() Room {
	usable := int(math.Ceil(float64(w.Free+w.Flying) * w.Pace))
	kept := min((usable+keptPart-1)/keptPart, usable-1)
	all := min(w.Free-w.Reserved, usable-w.Flying-w.Reserved, MostAtOnce)
	lower := min(all, usable-kept-w.FlyingLower-w.ReservedLower, LowerAhead-w.ReservedLower)
	return Room{max(all, 0), max(lower, 0)}
}
