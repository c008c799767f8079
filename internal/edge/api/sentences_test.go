package api

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file of testdata, which is read by people: go test -update writes it anew.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if got != string(want) {
		t.Errorf("%s is not what was written down; got:\n%s", path, got)
	}
	if strings.Contains(got, "%!") {
		t.Errorf("%s has a broken format", path)
	}
}

// samples are details of each kind of event, as the domain writes them.
var samples = map[evidence.EventKind][]map[string]string{
	evidence.EventOutcome: {
		{"outcome": "accepted", "external_id": "A1B2", "code": "0x00000000", "name": "ESME_ROK", "detail": "no error"},
		{"outcome": "accepted", "external_id": "\x00\x01"},
		{"outcome": "rejected", "code": "0x0000000B", "name": "ESME_RINVDSTADR", "detail": "invalid destination address"},
		{"outcome": "rejected", "code": "0x00000400"},
		{"outcome": "throttled", "code": "0x00000058", "name": "ESME_RTHROTTLED"},
		{"outcome": "not_sent", "detail": "smpp: too late to be written"},
		{"outcome": "unknown", "detail": "smpp: no answer within the response time"},
		{"outcome": "unknown"},
		{"outcome": "of_a_later_release"},
	},
	evidence.EventLate: {{"outcome": "accepted", "external_id": "A1B2"}},
	evidence.EventReceipt: {
		{"status": "DELIVRD", "state": "delivered", "match": "external_id", "error_code": "000"},
		{"status": "DELIVRD", "state": "delivered", "match": "own_reference"},
		{"status": "DELIVRD", "state": "delivered", "match": "normalised_id"},
		{"status": "UNDELIV", "state": "undelivered", "match": "external_id", "error_code": "001"},
	},
	evidence.EventRepeated:  {{"status": "DELIVRD", "state": "delivered"}, {"status": "ODD"}},
	evidence.EventOvertaken: {{"status": "ENROUTE", "state": "en_route"}},
	evidence.EventConflict:  {{"status": "UNDELIV", "state": "undelivered"}, {"outcome": "rejected"}, {}},
	evidence.EventCorrected: {{"status": "DELIVRD", "state": "delivered", "was": "expired"}},
	evidence.EventOrphaned:  {{"open": "0"}, {"open": "1"}},
	evidence.EventFailed:    {{"code": "content_destroyed"}, {"code": "content_unreadable"}, {"code": "0x0000000b"}, {}},
	evidence.EventRebuilt: {
		{"by": "ops", "reason": "FAILED is documented now", "was": "none", "delivery": "undelivered", "status": "FAILED"},
		{"by": "ops", "reason": "ids were misread", "was": "delivered", "delivery": "none", "moved": "true"},
	},
	evidence.EventResolved: {
		{"action": "attach", "by": "ops", "reason": "the carrier confirmed it", "status": "DELIVRD", "state": "delivered"},
		{"action": "dismiss", "by": "ops", "reason": "a test of theirs", "status": "UNDELIV", "state": "undelivered"},
		{"action": "attach", "by": "ops", "reason": "asked the carrier", "outcome": "accepted"},
		{"action": "dismiss", "by": "ops", "reason": "seen"},
	},
	evidence.EventCancelled: {{"by": "checkout", "reason": "ordered by mistake"}, {}},
}

// Every kind of event has its sentence, for a message of one part and for a part of a long one.
//
// covers: D14, R9
func TestEveryKindOfEventHasItsSentence(t *testing.T) {
	var b strings.Builder
	for _, kind := range kindsOfEvents(t) {
		for _, detail := range append(samples[kind], nil)[:max(1, len(samples[kind]))] {
			e := evidence.Event{Kind: kind, Attempt: 2, Part: 1, From: message.Accepted, To: message.Accepted, Detail: detail}
			if detail["status"] != "" {
				e.Receipt = ident.Receipt{4}
			}
			short, long := (&story{parts: 1}).sentence(&e), (&story{parts: 3}).sentence(&e)
			fmt.Fprintf(&b, "%-9s  %s\n", kind, short)
			if long != short && !strings.Contains(long, "part 1 of attempt 2") {
				t.Errorf("%s of a long message: %s", kind, long)
			}
			if strings.HasPrefix(short, "Event ") {
				t.Errorf("%s has no sentence", kind)
			}
		}
	}
	golden(t, "sentences.golden", b.String())
	whole := evidence.Event{Kind: evidence.EventResolved, Detail: map[string]string{"action": "dismiss", "by": "ops", "reason": "seen"}}
	if got := (&story{parts: 3}).sentence(&whole); got != "What a person was told of the message as a whole was looked at by ops: nothing follows from it (seen)." {
		t.Error(got)
	}
	if got := (&story{}).sentence(&evidence.Event{Kind: "of_a_later_release"}); got != "Event of_a_later_release." {
		t.Error(got)
	}
}

// covers: D20, R9
func TestAWordThatComesTooLateSaysSo(t *testing.T) {
	e := evidence.Event{Kind: evidence.EventRequeued, From: message.Unknown, To: message.Expired}
	if got := (&story{}).sentence(&e); !strings.HasSuffix(got, "It never will be: it is expired.") {
		t.Error(got)
	}
}

// kindsOfEvents are those that the domain declares, so that a new one without a sentence fails here.
func kindsOfEvents(t *testing.T) (kinds []evidence.EventKind) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), "../../domain/evidence/case.go", nil, 0)
	must(t, err)
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if kind, named := (*ast.Ident)(nil), false; ok && spec.Type != nil {
			if kind, named = spec.Type.(*ast.Ident); named && kind.Name == "EventKind" {
				word, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				must(t, err)
				kinds = append(kinds, evidence.EventKind(word))
			}
		}
		return true
	})
	slices.Sort(kinds)
	return kinds
}

// Every state has its outlook: what is known, what is owed, what happens next.
//
// covers: D9, D16
func TestEveryStateHasItsOutlook(t *testing.T) {
	var b strings.Builder
	at := func(d time.Duration) clock.Micros { return clock.FromTime(epoch.Add(d)) }
	unknown := store.Attempt{Attempt: evidence.Attempt{Attempt: 1, Part: 1, Outcome: message.OutcomeUnknown, Reference: 39082}}
	unnamed := unknown
	unnamed.Reference = -1
	throttled := store.Attempt{Attempt: evidence.Attempt{Attempt: 1, Part: 1, Outcome: message.OutcomeThrottled}}
	accepted := store.Attempt{Attempt: evidence.Attempt{Attempt: 1, Part: 1, Outcome: message.OutcomeAccepted}}
	attempts := map[message.State][][]store.Attempt{
		message.Pending: {nil, {throttled}}, message.Unknown: {{unknown}, {unnamed}}, message.Expired: {nil, {accepted}},
	}
	for _, s := range message.States() {
		for _, tried := range append(attempts[s], nil)[:max(1, len(attempts[s]))] {
			for _, final := range []bool{false, true} {
				if final && !message.CanBeFinal(s) {
					continue
				}
				m := &store.Message{State: s, Since: at(2 * time.Second), Final: final, Attempts: tried, ValidUntil: at(time.Hour), ReceiptUntil: at(73 * time.Hour)}
				words := outlook(m)
				fmt.Fprintf(&b, "%-11s  %s\n", s, words)
				if strings.HasPrefix(words, "Its state is") || final != strings.HasSuffix(words, "Nothing more is owed.") {
					t.Errorf("%s, final %t: %s", s, final, words)
				}
			}
		}
	}
	golden(t, "outlooks.golden", b.String())
}

// covers: D14, D17
func TestDecisionsAreSentences(t *testing.T) {
	var b strings.Builder
	for _, run := range []*store.Run{nil, {Last: clock.FromTime(epoch.Add(time.Minute)), Count: 412}} {
		for _, action := range []intent.Action{intent.Allow, intent.Suppress} {
			d := &store.Decision{Decision: sampleDecision(), Run: run}
			if d.Action = action; action == intent.Suppress {
				d.WindowEnds, d.Explanation = 0, "Message msg_… for the same purpose and destination was reported delivered 42 s ago."
			}
			if run == nil || action == intent.Suppress {
				fmt.Fprintln(&b, decisionSentence(d))
			}
		}
	}
	golden(t, "decisions.golden", b.String())
}

// Of an attempt that the store does not remember it is not said that it was made.
//
// covers: D20, R9
func TestAnAttemptThatIsNotRemembered(t *testing.T) {
	a := store.Attempt{Attempt: evidence.Attempt{Attempt: 1, Part: 1, Code: evidence.CodeRestored, Reference: -1}}
	want := "Nobody knows whether attempt 1 was made after the copy of the store was taken, which does not remember it."
	if got := attemptLine(&a, &story{parts: 1}).Summary; got != want {
		t.Error(got)
	}
}
