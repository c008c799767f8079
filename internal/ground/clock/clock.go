// Package clock is the only way in which the gateway learns the time.
//
// Two clocks exist. The store's clock decides: windows, validity, leases. It is read from the store inside a
// transaction, after the locks are held. The node's clock, below, appears in logs and in monotonic durations
// only; on the embedded store the node's clock is also the store's.
package clock

import "time"

// Micros is a point in time in microseconds since the Unix epoch, UTC. It is what the store keeps.
type Micros int64

// FromTime truncates t to microseconds.
func FromTime(t time.Time) Micros { return Micros(t.UnixMicro()) }

// Time returns m in UTC.
func (m Micros) Time() time.Time { return time.UnixMicro(int64(m)).UTC() }

// Add returns m moved by d.
func (m Micros) Add(d time.Duration) Micros { return m + Micros(d.Microseconds()) }

// Sub returns the duration m−o.
func (m Micros) Sub(o Micros) time.Duration { return time.Duration(m-o) * time.Microsecond }

// Clock tells the time. Implementations are safe for concurrent use.
type Clock interface {
	Now() time.Time
}

// System is the node's wall clock, moved by Offset. Only failure tests set Offset.
type System struct{ Offset time.Duration }

// Now returns the wall clock with a monotonic reading.
func (s System) Now() time.Time { return time.Now().Add(s.Offset) }
