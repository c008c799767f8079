// Package chaos names the points at which a failure test may end the process.
//
// In an ordinary build every function here is an empty one that the compiler removes. Built with the tag
// "chaos", EINMAL_KILL=point:n ends the process at the n-th pass of the point, as kill -9 would: no deferred
// function runs, no buffer is flushed. EINMAL_PAUSE=point:n stops it there, as kill -STOP would, until it is continued.
package chaos

// Point is a place in the code at which the process may be ended.
type Point string

// The points, in the order in which a message meets them; then those of what people do. At one that is written the
// rows are there and the transaction is not committed; at one that is committed nobody has been told.
const (
	DecideInserted   Point = "decide.inserted"   // a decision's rows are written, not committed
	DecideCommitted  Point = "decide.committed"  // committed, the caller not answered
	AnswersWritten   Point = "answers.written"   // which answers got out is written, not committed (D18)
	AnswersCommitted Point = "answers.committed" // committed; the node still takes it for news
	ClaimWritten     Point = "claim.written"     // a claim is written, not committed
	ClaimCommitted   Point = "claim.committed"   // a worker owns the message, no attempt exists
	AttemptWritten   Point = "attempt.written"   // an attempt is written, not committed
	AttemptCommitted Point = "attempt.committed" // the attempt is stored, no byte has left
	RestCommitted    Point = "rest.committed"    // attempts of the rest of a long message are stored, none of their bytes has left
	WireWritten      Point = "wire.written"      // the bytes have left, no answer was read
	WireRead         Point = "wire.read"         // the answer was read, its outcome not stored
	OutcomeWritten   Point = "outcome.written"   // an outcome is written, not committed
	OutcomeCommitted Point = "outcome.committed" // the outcome is stored, nobody was told
	ReceiptWritten   Point = "receipt.written"   // a receipt is written to the log, not committed
	ReceiptStored    Point = "receipt.stored"    // a receipt is stored, the provider not answered
	ReceiptApplied   Point = "receipt.applied"   // a receipt's effects are written, not committed
	FeedWritten      Point = "feed.written"      // events have their place in the feed and left the outbox, not committed
	WebhookClaimed   Point = "webhook.claimed"   // a delivery is claimed, nothing of it has left
	WebhookPosted    Point = "webhook.posted"    // an endpoint has answered, which is not stored
	SweepSelected    Point = "sweep.selected"    // between a sweep's select and its update
	SlotsWritten     Point = "slots.written"     // a node's binds are renewed, not committed
	Shutdown         Point = "shutdown"          // an orderly stop has begun

	ResolveWritten   Point = "resolve.written"   // a person's resolution of an exception is written, not committed
	ResolveCommitted Point = "resolve.committed" // committed, the person not answered
	PolicyWritten    Point = "policy.written"    // a policy is the one in force, not committed
	PolicyCommitted  Point = "policy.committed"  // committed, neither this node nor the person knows
	StopWritten      Point = "stop.written"      // an emergency stop, or its end, is written, not committed
	WalletSettled    Point = "wallet.settled"    // charges have moved and so has their wallet, not committed
	StopCommitted    Point = "stop.committed"    // committed, the person not answered
	ReleaseWritten   Point = "release.written"   // after a restore: the release, or its end, is written, not committed
	ReleaseCommitted Point = "release.committed" // committed; nobody goes on yet
	DoubtWritten     Point = "doubt.written"     // what the restore left in doubt is written as unknown, not committed
)

// Points lists all points in order.
func Points() []Point {
	return []Point{
		DecideInserted, DecideCommitted, AnswersWritten, AnswersCommitted, ClaimWritten, ClaimCommitted, AttemptWritten, AttemptCommitted,
		RestCommitted, WireWritten, WireRead, OutcomeWritten, OutcomeCommitted, ReceiptWritten, ReceiptStored, ReceiptApplied, FeedWritten,
		WebhookClaimed, WebhookPosted, SweepSelected, SlotsWritten, Shutdown, ResolveWritten, ResolveCommitted, PolicyWritten, PolicyCommitted, StopWritten, StopCommitted, WalletSettled,
		ReleaseWritten, ReleaseCommitted, DoubtWritten,
	}
}
