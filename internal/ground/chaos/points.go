// Package chaos names the points at which a failure test may end the process.
//
// In an ordinary build every function here is an empty one that the compiler removes. Built with the tag
// "chaos", EINMAL_KILL=point:n ends the process at the n-th pass of the point, as kill -9 would: no deferred
// function runs, no buffer is flushed.
package chaos

// Point is a place in the code at which the process may be ended.
type Point string

// The points, in the order in which a message meets them.
const (
	DecideInserted   Point = "decide.inserted"   // a decision's rows are written, not committed
	DecideCommitted  Point = "decide.committed"  // committed, the caller not answered
	ClaimCommitted   Point = "claim.committed"   // a worker owns the message, no attempt exists
	AttemptCommitted Point = "attempt.committed" // the attempt is stored, no byte has left
	WireWritten      Point = "wire.written"      // the bytes have left, no answer was read
	WireRead         Point = "wire.read"         // the answer was read, its outcome not stored
	OutcomeCommitted Point = "outcome.committed" // the outcome is stored, nobody was told
	ReceiptStored    Point = "receipt.stored"    // a receipt is stored, the provider not answered
	ReceiptApplied   Point = "receipt.applied"   // a receipt's effects are written, not committed
	SweepSelected    Point = "sweep.selected"    // between a sweep's select and its update
	Shutdown         Point = "shutdown"          // an orderly stop has begun
)

// Points lists all points in order.
func Points() []Point {
	return []Point{DecideInserted, DecideCommitted, ClaimCommitted, AttemptCommitted, WireWritten, WireRead,
		OutcomeCommitted, ReceiptStored, ReceiptApplied, SweepSelected, Shutdown}
}
