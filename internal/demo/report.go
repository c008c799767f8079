package demo

import (
	"fmt"
	"slices"
	"strings"
)

// Row is what came of a scene, or of all of them.
type Row struct {
	Scene        string         `json:"scene,omitempty"`
	Intents      int            `json:"intents"`        // things that somebody should be told once
	Requests     int            `json:"requests"`       // that came in
	Messages     int            `json:"messages"`       // that were made
	OnPhones     int            `json:"on_phones"`      // texts, as counted on the carrier's side
	NotSentTwice int            `json:"not_sent_twice"` // requests that were answered with a message that was there
	Because      map[string]int `json:"because"`        // those, by why: the class of the decision, or that it was replayed
	Ended        map[string]int `json:"ended"`          // messages by their states
	Marks        map[string]int `json:"receipt_marks"`  // messages by what receipts did beside
	Evidence     int            `json:"settled_by_evidence"`
	Exceptions   int            `json:"open_exceptions"`
}

// Report is the whole demonstration.
type Report struct {
	Run      string    `json:"run"`
	Counted  string    `json:"counted_in"`
	Scenes   []Row     `json:"scenes"`
	Total    Row       `json:"total"`
	Promises []Promise `json:"promises"`
	Held     bool      `json:"held"` // all promises
	TookMs   int64     `json:"took_ms"`
}

// rowOf counts intents. An answer that is no success is no repeat that was caught: it counts as a request alone.
func rowOf(name string, intents []*intent) Row {
	r := Row{Scene: name, Intents: len(intents), Because: map[string]int{}, Ended: map[string]int{}, Marks: map[string]int{}}
	for _, it := range intents {
		r.Requests += len(it.answers)
		r.Messages += it.messages()
		r.OnPhones += it.onPhones
		for _, a := range it.answers {
			if why := a.because(); why != "" {
				r.NotSentTwice++
				r.Because[why]++
			}
		}
		if it.message.State != "" {
			r.Ended[it.message.State]++
		}
		for _, mark := range it.message.ReceiptMarks {
			r.Marks[mark]++
		}
		if it.lost && it.byReference {
			r.Evidence++
		}
		for _, x := range it.exceptions {
			if x.Open {
				r.Exceptions++
			}
		}
	}
	return r
}

// sentence says what came of a scene.
func (r *Row) sentence() string {
	words := []string{fmt.Sprintf("%s made %s.", many(r.Requests, "request"), many(r.Messages, "message"))}
	if r.NotSentTwice > 0 {
		words[0] = fmt.Sprintf("%s made %s; %d of them were answered with one that was there.", many(r.Requests, "request"), many(r.Messages, "message"), r.NotSentTwice)
	}
	words = append(words, fmt.Sprintf("On the phones: %s. The messages: %s.", many(r.OnPhones, "text"), Counted(r.Ended)))
	if len(r.Marks) > 0 {
		words = append(words, "Receipts that moved nothing: "+Counted(r.Marks)+".")
	}
	if r.Evidence > 0 {
		words = append(words, fmt.Sprintf("%s settled by a receipt that carries our own reference.", many(r.Evidence, "lost answer")))
	}
	if n := r.Ended["unknown"]; n > 0 {
		words = append(words, fmt.Sprintf("%s unknown: nobody can say whether it was sent, so it is not sent again.", many(n, "message")))
	}
	if r.Exceptions > 0 {
		words = append(words, fmt.Sprintf("%s waits for a person.", many(r.Exceptions, "exception")))
	}
	return strings.Join(words, " ")
}

// Counted lists counts, the largest first, such as "delivered 2, unknown 1".
func Counted(of map[string]int) string {
	var names []string
	for name := range of {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if of[a] != of[b] {
			return of[b] - of[a]
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, of[name])
	}
	return strings.Join(names, ", ")
}

func many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// sum adds the scenes up and judges.
func (r *Report) sum(all []*intent) {
	r.Total = rowOf("", all)
	r.Promises, r.Held = judge(all), true
	for _, p := range r.Promises {
		r.Held = r.Held && p.Held
	}
}
