// Package storetest is the conformance suite of package store. Every adapter runs it.
package storetest

import (
	"testing"
	"time"

	"github.com/einmal/einmal/internal/store"
)

// Harness is an adapter under test.
type Harness struct {
	// Open opens a store on a new, empty database.
	Open func(t *testing.T) store.Store
	// Advance lets d pass on the store's clock: by moving it, or by waiting.
	Advance func(t *testing.T, s store.Store, d time.Duration)
	// Fragile opens a store whose next commit, once arm was called, loses its connection after the server has
	// committed; cut says how often that happened. Nil: the engine has no connection to lose.
	Fragile func(t *testing.T) (s store.Store, arm func(), cut func() int)
	// Deadlocks counts the transactions of a store that were made again after a deadlock or a failed
	// serialisation. Nil: the engine has one writer.
	Deadlocks func(s store.Store) int
	// Full asks for the counts of make torture.
	Full bool
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	for name, test := range map[string]func(*testing.T, Harness){
		"Registry":             testRegistry,
		"Keys":                 testKeys,
		"Slots":                testSlots,
		"DecideOne":            testDecideOne,
		"DecideBatch":          testDecideBatch,
		"IdempotencyKey":       testIdempotencyKey,
		"WindowEnds":           testWindowEnds,
		"OtherTextIsVersion":   testOtherTextIsVersion,
		"Preview":              testPreview,
		"PolicyChanges":        testPolicyChanges,
		"Racers":               testRacers,
		"Linearizable":         testLinearizable,
		"PoisonedRequest":      testPoisonedRequest,
		"StuckRequest":         testStuckRequest,
		"LostCommit":           testLostCommit,
		"ClaimAndOpen":         testClaimAndOpen,
		"FenceAndLease":        testFenceAndLease,
		"References":           testReferences,
		"OutcomeThenReceipt":   testOutcomeThenReceipt,
		"ReceiptThenOutcome":   testReceiptThenOutcome,
		"LostAnswerByEcho":     testLostAnswerByEcho,
		"LostAnswerPaired":     testLostAnswerPaired,
		"RepeatedReceipt":      testRepeatedReceipt,
		"Orphan":               testOrphan,
		"CancelAndValidity":    testCancelAndValidity,
		"Finality":             testFinality,
		"LeavesWindow":         testLeavesWindow,
		"Pairs":                testPairs,
		"HotRows":              testHotRows,
		"Feed":                 testFeed,
		"Lists":                testLists,
		"RedactedReceipt":      testRedactedReceipt,
		"OwnKeysAreDestroyed":  testOwnKeysAreDestroyed,
		"ExceptionsAreGrouped": testExceptionsAreGrouped,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of a test on a server is waiting for its clock
			test(t, h)
		})
	}
}
