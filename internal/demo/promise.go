package demo

import (
	"fmt"
	"slices"
)

// Promise is one that is kept or broken in the demonstration.
type Promise struct {
	Promise string `json:"promise"`
	Held    bool   `json:"held"`
	Found   string `json:"found"` // what was counted
}

// promises are compared with what was found. Each says whether one intent keeps it; broken ones are counted.
var promises = []struct {
	text   string
	breaks func(*intent) bool
	found  func([]*intent) string
}{
	{"Nobody is texted twice.",
		func(it *intent) bool { return it.onPhones > 1 || it.messages() > 1 }, mostOnAPhone},
	{"No request that is meant is swallowed: each intent has its message, and every request is told which.",
		func(it *intent) bool { return it.messages() != 1 || !it.agreed() }, withoutMessage},
	{"No false yes: what was accepted or is reported delivered is on a phone.",
		func(it *intent) bool {
			return slices.Contains([]string{"accepted", "delivered", "undelivered", "en_route"}, it.message.State) && it.onPhones != 1
		}, states("delivered", "undelivered")},
	{"No false no: what was rejected is on no phone.",
		func(it *intent) bool { return it.message.State == "rejected" && it.onPhones > 0 }, states("rejected")},
	{"A lost answer is settled by evidence or called unknown, and is never a reason to send again.",
		func(it *intent) bool {
			settled := it.message.State == "delivered" && it.byReference || it.message.State == "unknown"
			return it.lost && (!settled || len(it.message.Attempts) != 1)
		}, lostFound},
	{"What contradicts a final status moves nothing, and is shown to a person.",
		func(it *intent) bool {
			conflict := slices.Contains(it.message.ReceiptMarks, "conflicting")
			return conflict && (it.message.State != "delivered" || len(it.exceptions) == 0)
		}, conflictsFound},
	{"Everything has ended or is called what it is: nothing hangs.",
		func(it *intent) bool { return !it.message.Final && it.message.State != "unknown" }, states("pending", "sending")},
}

func judge(all []*intent) []Promise {
	var judged []Promise
	for _, p := range promises {
		broken := 0
		for _, it := range all {
			if p.breaks(it) {
				broken++
			}
		}
		found := p.found(all)
		if broken > 0 {
			found = fmt.Sprintf("broken for %s of %d; %s", many(broken, "intent"), len(all), found)
		}
		judged = append(judged, Promise{p.text, broken == 0, found})
	}
	return judged
}

func mostOnAPhone(all []*intent) string {
	most := 0
	for _, it := range all {
		most = max(most, it.onPhones)
	}
	return fmt.Sprintf("of one intent at most %s on a phone", many(most, "text"))
}

func withoutMessage(all []*intent) string {
	requests := 0
	for _, it := range all {
		requests += len(it.answers)
	}
	return fmt.Sprintf("%s and %s", many(len(all), "intent"), many(requests, "request"))
}

// states counts messages in some states.
func states(names ...string) func([]*intent) string {
	return func(all []*intent) string {
		count := map[string]int{}
		for _, name := range names {
			count[name] = 0
		}
		for _, it := range all {
			if _, wanted := count[it.message.State]; wanted {
				count[it.message.State]++
			}
		}
		return Counted(count)
	}
}

func lostFound(all []*intent) string {
	lost, settled, unknown := 0, 0, 0
	for _, it := range all {
		if it.lost {
			lost++
			if it.message.State == "unknown" {
				unknown++
			} else if it.byReference {
				settled++
			}
		}
	}
	return fmt.Sprintf("%s: %d settled, %d unknown", many(lost, "lost answer"), settled, unknown)
}

func conflictsFound(all []*intent) string {
	n := 0
	for _, it := range all {
		if slices.Contains(it.message.ReceiptMarks, "conflicting") {
			n++
		}
	}
	return many(n, "contradiction")
}
