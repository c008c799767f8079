package demo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/edge/api"
)

// kept is an intent that keeps all promises.
func kept() *intent {
	it := &intent{text: "t", onPhones: 1, answers: []answer{{Status: 201, Action: "allow", Message: "msg_1"}, {Status: 200, Action: "suppress", Class: "technical_duplicate", Message: "msg_1"}}}
	it.message.State, it.message.Final, it.message.Attempts = "delivered", true, make([]api.AttemptView, 1)
	return it
}

// Each promise is broken by what breaks it, by nothing else of this table, and a broken one is told.
func TestPromisesCanBeBroken(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*intent)
		broken []int // promises, by their places
	}{
		"kept":                   {func(*intent) {}, nil},
		"two texts":              {func(it *intent) { it.onPhones = 2 }, []int{0, 2}},
		"two messages":           {func(it *intent) { it.answers[1].Action = "allow" }, []int{0, 1}},
		"no message":             {func(it *intent) { it.answers, it.onPhones = []answer{{Status: 500}}, 0 }, []int{1, 2}},
		"another message":        {func(it *intent) { it.answers[1].Message = "msg_2" }, []int{1}},
		"an answer without one":  {func(it *intent) { it.answers[1] = answer{Status: 503} }, []int{1}},
		"delivered, on no phone": {func(it *intent) { it.onPhones = 0 }, []int{2}},
		"rejected, on a phone":   {func(it *intent) { it.message.State = "rejected" }, []int{3}},
		"rejected, on none":      {func(it *intent) { it.message.State, it.onPhones = "rejected", 0 }, nil},
		"lost and settled":       {func(it *intent) { it.lost, it.byReference = true, true }, nil},
		"lost and guessed":       {func(it *intent) { it.lost = true }, []int{4}},
		"lost and unknown":       {func(it *intent) { it.lost, it.message.State, it.message.Final = true, "unknown", false }, nil},
		"lost and sent again": {func(it *intent) {
			it.lost, it.message.State, it.message.Attempts = true, "unknown", make([]api.AttemptView, 2)
		}, []int{4}},
		"a conflict, told": {func(it *intent) {
			it.message.ReceiptMarks, it.exceptions = []string{"conflicting"}, make([]api.ExceptionView, 1)
		}, nil},
		"a conflict, told nobody": {func(it *intent) { it.message.ReceiptMarks = []string{"conflicting"} }, []int{5}},
		"a conflict that moved it": {func(it *intent) {
			it.message.ReceiptMarks, it.exceptions, it.message.State = []string{"conflicting"}, make([]api.ExceptionView, 1), "undelivered"
		}, []int{5}},
		"one that hangs": {func(it *intent) { it.message.State, it.message.Final, it.onPhones = "sending", false, 0 }, []int{6}},
	} {
		it := kept()
		c.change(it)
		r := &Report{}
		r.sum([]*intent{kept(), it})
		var broken []int
		for i, p := range r.Promises {
			if !p.Held {
				broken = append(broken, i)
			}
			if p.Held == strings.HasPrefix(p.Found, "broken for 1 intent of 2") {
				t.Errorf("%s: %+v", name, p)
			}
		}
		if !slices.Equal(broken, c.broken) || r.Held != (len(broken) == 0) {
			t.Errorf("%s: broken are %v, want %v", name, broken, c.broken)
		}
	}
}

// A text that is in the ledger twice is counted twice; what was not accepted is not counted.
func TestTheLedgerIsCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	line := func(outcome, hex string) string {
		return `{"at":"2026-12-31T10:00:00Z","system_id":"e","seq":1,"reference":null,"source":"S","destination":"1","message_id":"","short_message_hex":"` + hex + `","outcome":"` + outcome + `"}` + "\n"
	}
	ledger := line("accepted", "6869") + line("throttled", "6869") + line("accepted", "6869") + line("ignored", "796f") + line("rejected", "796f")
	if err := os.WriteFile(path, []byte(ledger), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := countLedger(path)
	if err != nil || len(got) != 1 || got["hi"] != 2 {
		t.Errorf("%v %v", got, err)
	}
	if _, err := countLedger(path + "x"); err == nil {
		t.Error("a ledger that is not there was counted")
	}
}

func TestRowsAreCounted(t *testing.T) {
	it := kept()
	it.answers = append(it.answers, answer{Status: 201, Replayed: true, Action: "allow", Message: "msg_1"}, answer{Status: 503})
	it.message.ReceiptMarks, it.lost, it.byReference = []string{"late"}, true, true
	it.exceptions = []api.ExceptionView{{Open: true}, {Open: false}}
	r := rowOf("x", []*intent{it, kept()})
	if r.Requests != 6 || r.Messages != 2 || r.OnPhones != 2 || r.NotSentTwice != 3 || r.Because["technical_duplicate"] != 2 || r.Because["replayed"] != 1 ||
		r.Ended["delivered"] != 2 || r.Evidence != 1 || r.Exceptions != 1 || r.Marks["late"] != 1 {
		t.Errorf("%+v", r)
	}
	want := "6 requests made 2 messages; 3 of them were answered with one that was there. On the phones: 2 texts. The messages: delivered 2. " +
		"Receipts that moved nothing: late 1. 1 lost answer settled by a receipt that carries our own reference. 1 exception waits for a person."
	if got := r.sentence(); got != want {
		t.Errorf("%s", got)
	}
}
