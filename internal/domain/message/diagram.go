package message

import (
	"fmt"
	"strings"
)

// Mermaid returns the diagram of a message's states.
func Mermaid() string { return diagram(states, Pending, Held) }

// Document returns the chapters of docs/states.md about messages: the three tables in words and as diagrams.
func Document() string {
	var b strings.Builder
	b.WriteString(intro)
	section(&b, "Messages", messagesIntro, Mermaid(), states)
	b.WriteString(correctionsText())
	section(&b, "Outcome of an attempt", outcomesIntro, diagram(outcomes, OutcomeOpen), outcomes)
	section(&b, "Reported delivery of a part", deliveriesIntro, diagram(deliveries, DeliveryNone), deliveries)
	return b.String()
}

const intro = `# States

Generated from the tables in internal/domain/message and internal/domain/exception. Change those, then run
` + "`UPDATE=1 go test ./internal/domain/message`" + `.

Four facts are kept apart and never merged into one word: that the gateway has *taken* a request, that a message
was *handed over* to a provider, that the provider *accepted* it, and that a receipt *reported* its delivery. The
first is the decision's record, the second an attempt with its parts, the third the outcome of each part, the
fourth its delivery. The state of a message is computed from the last two, and from whether it was held, claimed,
taken back, replaced, or its validity ended.
`

const messagesIntro = `A message is final only when nothing is owed: no attempt is open, no retry is due, and no receipt may still come.`

const outcomesIntro = `One part of one attempt. It takes its first definite outcome from whoever learns it: accepted, rejected, throttled or
not_sent. A later, different one is a conflict for a person and moves nothing.`

const deliveriesIntro = `What receipts report about one part of one attempt. The arrival of a receipt never moves a final report: the same
one again is *repeated*, one that is not final is *late*, another final one is *conflicting* and opens an exception.`

// section writes one table.
func section[T ~uint8](b *strings.Builder, title, about, diagram string, rows []row[T]) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n```mermaid\n%s```\n", title, about, diagram)
	for _, r := range rows {
		if r.name == "" {
			continue
		}
		fmt.Fprintf(b, "\n### %s\n\n%s\n\n%s\n", r.name, r.about, movesText(rows, r))
	}
}

// movesText says in a sentence where a state may go.
func movesText[T ~uint8](rows []row[T], r row[T]) string {
	if len(r.to) == 0 {
		return "It moves no more."
	}
	names := make([]string, len(r.to))
	for i, to := range r.to {
		names[i] = rows[to].name
	}
	return "May become: " + strings.Join(names, ", ") + "."
}

// diagram draws a table for Mermaid, beginning at the given states.
func diagram[T ~uint8](rows []row[T], starts ...T) string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	for _, s := range starts {
		fmt.Fprintf(&b, "    [*] --> %s\n", rows[s].name)
	}
	for _, r := range rows {
		for _, to := range r.to {
			fmt.Fprintf(&b, "    %s --> %s\n", r.name, rows[to].name)
		}
	}
	return b.String()
}
