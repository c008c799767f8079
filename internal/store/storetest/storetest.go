// Package storetest is the conformance suite of package store. Every adapter runs it.
package storetest

import (
	"database/sql"
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
	// Database opens the database of a store, past it, for times of days that no test waits for. It is closed with the
	// test, and reads no table from end to end.
	Database func(t *testing.T, s store.Store) *sql.DB
	// Fragile opens a store whose connections can be cut at a COMMIT. Nil: the engine has no connection to lose.
	Fragile func(t *testing.T) Fragile
	// Deadlocks counts the transactions of a store that were made again after a deadlock or a failed
	// serialisation. Nil: the engine has one writer.
	Deadlocks func(s store.Store) int
	// Copy takes a copy of a store's database as it is now. What it returns opens a store on a copy of that copy,
	// each time it is called.
	Copy func(t *testing.T, s store.Store) (open func(t *testing.T) store.Store)
	// Again opens the same database once more, as another node does. Nil: the engine has one process.
	Again func(t *testing.T, s store.Store) store.Store
	// Full asks for the counts of make torture.
	Full bool
}

// Fragile is a store on a server behind a proxy.
type Fragile struct {
	store.Store
	Direct store.Store // the same database, past the proxy
	// Arm makes the next COMMIT lose its connection: after the server has committed, or before it has heard of it.
	Arm func(committed bool)
	Cut func() int // how often that happened
	// Hold keeps every new connection waiting until the returned function is called.
	Hold func() (release func())
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	runAll(t, h, map[string]func(*testing.T, Harness){
		"Registry":             testRegistry,
		"DecideOne":            testDecideOne,
		"DecideBatch":          testDecideBatch,
		"IdempotencyKey":       testIdempotencyKey,
		"WindowEnds":           testWindowEnds,
		"OtherTextIsVersion":   testOtherTextIsVersion,
		"Storm":                testStorm,
		"StormIsOver":          testStormIsOver,
		"Preview":              testPreview,
		"AnswersSent":          testAnswersSent,
		"PolicyVersions":       testPolicyVersions,
		"PolicyRacers":         testPolicyRacers,
		"PolicyUnderLoad":      testPolicyUnderLoad,
		"Monitor":              testMonitor,
		"OlderKey":             testOlderKey,
		"OlderVariant":         testOlderVariant,
		"Trial":                testTrial,
		"StateSource":          testStateSource,
		"Racers":               testRacers,
		"Linearizable":         testLinearizable,
		"PoisonedRequest":      testPoisonedRequest,
		"StuckRequest":         testStuckRequest,
		"LostCommit":           testLostCommit,
		"LostOpen":             testLostOpen,
		"LostOpenReclaimed":    testLostOpenReclaimed,
		"LostSettle":           testLostSettle,
		"OtherTenants":         testOtherTenants,
		"LostSlot":             testLostSlot,
		"ClockStepsBack":       testClockStepsBack,
		"OpenAfterValidity":    testOpenAfterValidity,
		"EarlyOnce":            testEarlyOnce,
		"LongExternalID":       testLongExternalID,
		"ManyFlows":            testManyFlows,
		"Lanes":                testLanes,
		"TenantsTakeTurns":     testTenantsTakeTurns,
		"Rates":                testRates,
		"ExpiredInFlow":        testExpiredInFlow,
		"ConnectionSettings":   testConnectionSettings,
		"Routes":               testRoutes,
		"Stops":                testStops,
		"StopsAreKept":         testStopsAreKept,
		"StoppedMessages":      testStoppedMessages,
		"StoppedCrowd":         testStoppedCrowd,
		"ClaimAndOpen":         testClaimAndOpen,
		"FenceAndLease":        testFenceAndLease,
		"References":           testReferences,
		"Parts":                testParts,
		"OutcomeThenReceipt":   testOutcomeThenReceipt,
		"SettleLogged":         testSettleLogged,
		"ReceiptThenOutcome":   testReceiptThenOutcome,
		"LostAnswerByEcho":     testLostAnswerByEcho,
		"LostAnswerPaired":     testLostAnswerPaired,
		"RepeatedReceipt":      testRepeatedReceipt,
		"Orphan":               testOrphan,
		"CancelAndValidity":    testCancelAndValidity,
		"LeavesWindow":         testLeavesWindow,
		"Pairs":                testPairs,
		"HotRows":              testHotRows,
		"Feed":                 testFeed,
		"Lists":                testLists,
		"Versions":             testVersions,
		"RedactedReceipt":      testRedactedReceipt,
		"OwnKeysAreDestroyed":  testOwnKeysAreDestroyed,
		"ExceptionsAreGrouped": testExceptionsAreGrouped,
	})
	for _, more := range families {
		runAll(t, h, more)
	}
}

// families are the tests by what they are of.
var families = []map[string]func(*testing.T, Harness){
	jumpTests,
	slotTests,
	webhookTests,
	exceptionTests,
	finalityTests,
	administrationTests,
	moneyTests,
	historyTests,
}

// exceptionTests are those of receipts' ids, and of what people make of exceptions.
var exceptionTests = map[string]func(*testing.T, Harness){
	"ResolveConflict":      testResolveConflict,
	"ResolveLostAnswer":    testResolveLostAnswer,
	"ResolveUnmatched":     testResolveUnmatched,
	"ResolveOwn":           testResolveOwn,
	"ResolveAgain":         testResolveAgain,
	"ResolveForeignNumber": testResolveForeignNumber,
	"ResolveOtherWords":    testResolveOtherWords,
	"ResolveCandidates":    testResolveCandidates,
	"PairsBehindMany":      testPairsBehindMany,
	"ExceptionsOfAll":      testExceptionsOfAllTenants,
	"ResolveSilentPart":    testResolveSilentPart,
	"AnswerAfterAttaching": testAnswerAfterAttaching,
	"ResolveRace":          testResolveRace,
	"ExceptionSettles":     testExceptionSettlesItself,
	"ContradictionOnce":    testContradictionOnce,
	"CorrectionReopens":    testCorrectionReopensTheKey,
	"DocumentedCorrection": testDocumentedCorrections,
	"UnmatchedHint":        testUnmatchedHint,
	"ExceptionLists":       testExceptionLists,
	"IDsInTwoBases":        testIDsInTwoBases,
	"IDsThatAreTwoNumbers": testIDsThatAreTwoNumbers,
	"OpaqueIDs":            testOpaqueIDs,
	"AwaitedIDs":           testAwaitedIDs,
	"RereadStatus":         testRereadStatus,
	"RereadUnmatched":      testRereadUnmatched,
	"RereadMoves":          testRereadMoves,
	"RereadOthers":         testRereadOthers,
	"RereadConflicts":      testRereadConflicts,
	"ForeignReceipts":      testForeignReceipts,
	"RecycledIDs":          testRecycledIDs,
	"FailedReceiptsWait":   testFailedReceiptsWait,
	"FailedGivenUp":        testFailedReceiptsAreGivenUp,
}

// moneyTests are those of refusals, prices and wallets.
var moneyTests = map[string]func(*testing.T, Harness){
	"Refused":     testRefused,
	"LostRefusal": testLostRefusal,

	"WalletHolds":      testWalletHolds,
	"WalletLimit":      testWalletLimit,
	"WalletLongText":   testWalletLongText,
	"WalletUnknown":    testWalletUnknownKeeps,
	"WalletDeclared":   testWalletDeclared,
	"WalletThrottle":   testWalletThrottle,
	"WalletCorrected":  testWalletCorrected,
	"WalletRebuilt":    testWalletRebuilt,
	"WalletHouse":      testWalletHouse,
	"WalletOff":        testWalletOff,
	"WalletPrice":      testWalletPriceBegins,
	"WalletPayments":   testWalletPayments,
	"WalletSetLimit":   testWalletSetLimit,
	"WalletFloor":      testWalletFloor,
	"WalletSpends":     testWalletSpends,
	"WalletLostCommit": testWalletLostCommit,
	"WalletHeld":       testWalletHeld,
	"WalletLostSettle": testWalletLostSettle,
	"WalletHot":        testWalletHot,
	"WalletLinear":     testWalletLinearizable,
	"WalletForget":     testWalletForget,
	"WalletVerify":     testWalletVerify,
	"Prices":           testPrices,
}

func runAll(t *testing.T, h Harness, tests map[string]func(*testing.T, Harness)) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of a test on a server is waiting for its clock
			test(t, h)
		})
	}
}
