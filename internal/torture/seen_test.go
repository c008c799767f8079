package torture_test

import (
	"net/http"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/torture/check"
)

// shown is a message as the API lists it.
type shown struct {
	ID       string
	State    string
	Event    struct{ ID string }
	Attempts []struct {
		ExternalID *string `json:"external_id"`
		Reported   *string `json:"reported_delivery"`
	}
}

// shownReceipt and shownException are what the API shows of them.
type shownReceipt struct {
	ID         string
	Kind       string
	ExternalID *string `json:"external_id"`
	State      *string
}

type shownException struct {
	ID      string
	Kind    string
	Open    bool
	Message *string
	Receipt *string
	// Candidates are several where two parts of a message were under way at once.
	Candidates []struct{ Part int }
}

// told is which exceptions there are, by their receipt's message id and kind.
type told map[string]int

// owed is what is not settled yet: something is pending or being sent, a receipt of the message centre is not known, or
// what only a person can settle waits for nobody. Nothing: all is settled.
func (w *world) owed() string {
	if w.payer != nil {
		if missing := w.payer.owed(); missing != "" {
			return missing
		}
	}
	return w.owedOf(w.readLedger())
}

// owedOf is owed as far as these lines of the ledger go.
func (w *world) owedOf(ledger []simulator.Entry) string {
	messages, ok := listed[shown](w.load, "/v1/messages")
	if !ok {
		return "an answer to what messages there are"
	}
	reported := map[string]bool{}
	for _, m := range messages {
		if m.State == message.Pending.String() || m.State == message.Sending.String() {
			return "the end of " + m.ID + ", which is " + m.State
		}
		for _, a := range m.Attempts {
			if a.ExternalID != nil {
				reported[*a.ExternalID] = a.Reported != nil
			}
		}
	}
	stored, told, ok := w.receipts()
	if !ok {
		return "an answer to what receipts there are"
	}
	odd := 0
	for _, e := range ledger {
		if e.Outcome != simulator.Accepted {
			continue
		}
		if check.Unreadable(e.Destination) {
			odd++
		}
		if missing := w.owedTo(&e, stored, told, reported[e.MessageID]); missing != "" {
			return missing + " about line " + e.MessageID
		}
	}
	if told[" "+string(exception.Unreadable)] < odd {
		return "an exception about a receipt that cannot be read"
	}
	return ""
}

// owedTo is what is not known yet about a part that was taken.
func (w *world) owedTo(e *simulator.Entry, stored map[string]bool, told told, reported bool) string {
	if told.about(e.MessageID) < w.conflicts(e) {
		return "an exception"
	}
	for i, d := range check.Reports(e.Destination) {
		switch {
		case !stored[e.MessageID+" "+d.String()]:
			return "a receipt that says " + d.String()
		case i == 0 && !reported && told.about(e.MessageID) == 0:
			return "the effect of a receipt"
		}
	}
	return ""
}

// conflicts is how many exceptions a taken part has at least.
func (w *world) conflicts(e *simulator.Entry) int {
	if all := check.Reports(e.Destination); w.echo && len(all) > 1 && all[1].Final() {
		return 1
	}
	return 0
}

func (t told) about(id string) (n int) {
	for _, k := range exception.Kinds {
		n += t[id+" "+string(k)]
	}
	return n
}

// receipts reads which reports are stored, by message id and state, and what people were told.
func (w *world) receipts() (stored map[string]bool, all told, ok bool) {
	stored, all = map[string]bool{}, told{}
	receipts, ok1 := listed[shownReceipt](w.load, "/v1/receipts")
	exceptions, ok2 := listed[shownException](w.load, "/v1/exceptions")
	ids := map[string]string{}
	for _, r := range receipts {
		if r.ExternalID != nil && r.State != nil {
			ids[r.ID] = *r.ExternalID
			stored[*r.ExternalID+" "+*r.State] = true
		}
	}
	for _, x := range exceptions {
		if x.Receipt != nil {
			all[ids[*x.Receipt]+" "+x.Kind]++
		}
	}
	return stored, all, ok1 && ok2
}

// count counts the messages in a state.
func (l *load) count(state message.State) (n int) {
	all, _ := listed[shown](l, "/v1/messages")
	for _, m := range all {
		if m.State == state.String() {
			n++
		}
	}
	return n
}

// listed reads a list of the API to its end; false: it cannot at the moment.
func listed[T any](l *load, path string) (all []T, ok bool) {
	for after := ""; ; {
		var page struct {
			Data []T
			Next *string
		}
		if l.call(http.MethodGet, path+"?limit=200&after="+after, "", nil, &page) != http.StatusOK {
			return nil, false
		}
		all = append(all, page.Data...)
		if page.Next == nil {
			return all, true
		}
		after = *page.Next
	}
}
