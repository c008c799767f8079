package exception

import (
	"fmt"
	"slices"
	"strings"
)

// State says what became of an exception. The numbers are stored.
type State uint8

// The states.
const (
	Open      State = 1
	Attached  State = 2
	Dismissed State = 3
	Reread    State = 4
	Settled   State = 5
)

// states is the table: spellings, meanings, and where each may move. An exception is resolved once; what was wrong
// with a resolution is put right by the next evidence, or by another exception.
var states = []struct {
	name, about string
	to          []State
}{
	Open:      {"open", "It waits for a person, or for evidence that settles it.", []State{Attached, Dismissed, Reread, Settled}},
	Attached:  {"attached", "A person gave the evidence to an attempt: it stands, also against what was known before.", nil},
	Dismissed: {"dismissed", "A person said that nothing follows from the evidence. It is kept.", nil},
	Reread:    {"reread", "Its receipt was read again, after a parser or a setting was mended, and had its effect.", nil},
	Settled:   {"settled", "Later evidence settled it by itself.", nil},
}

// String returns the state's spelling, "" for a number that is none.
func (s State) String() string {
	if int(s) >= len(states) {
		return ""
	}
	return states[s].name
}

// ParseState reads a spelling.
func ParseState(name string) (State, bool) {
	for s := Open; int(s) < len(states); s++ {
		if states[s].name == name {
			return s, true
		}
	}
	return 0, false
}

// Allowed reports whether an exception may move from one state to another.
func Allowed(from, to State) bool {
	return int(from) < len(states) && slices.Contains(states[from].to, to)
}

// Action is what a person does with an exception. The spellings are public.
type Action string

// The actions.
const (
	Attach  Action = "attach"  // the evidence belongs to this attempt, and stands
	Dismiss Action = "dismiss" // nothing follows from it
	ReRead  Action = "reread"  // read the receipt again: its parser or its connection's settings were mended
)

// Actions are all of them, with the state that each leads to.
var Actions = map[Action]State{Attach: Attached, Dismiss: Dismissed, ReRead: Reread}

// permitted says what each kind can be resolved by. An answer that contradicts has no receipt that could be read
// again; receipts that are missing can be given to nobody.
var permitted = map[Kind][]Action{
	Unmatched:   {Attach, Dismiss, ReRead},
	Ambiguous:   {Attach, Dismiss, ReRead},
	Conflicting: {Attach, Dismiss, ReRead},
	Unreadable:  {Attach, Dismiss, ReRead},
	LostAnswer:  {Attach, Dismiss, ReRead},
	Missing:     {Dismiss},
}

// Permitted lists what this exception can be resolved by while it is open.
func (e *Exception) Permitted() []Action {
	if e.State != Open {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(permitted[e.Kind]), func(a Action) bool {
		return a == ReRead && e.Receipt.IsZero() || a == Attach && e.Receipt.IsZero() && e.Event == 0
	})
}

// Document is the chapter about exceptions in docs/states.md.
func Document() string {
	var b strings.Builder
	b.WriteString("\n## Exceptions\n\nWhat the gateway could not settle by itself. Each is resolved once, by a person who is named with a reason, by\n" +
		"reading its receipt again, or by later evidence.\n\n```mermaid\nstateDiagram-v2\n    [*] --> open\n")
	for _, s := range states {
		for _, to := range s.to {
			fmt.Fprintf(&b, "    %s --> %s\n", s.name, to)
		}
	}
	b.WriteString("```\n")
	for _, s := range states[Open:] {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", s.name, s.about)
	}
	b.WriteString("\n| kind | attach | dismiss | reread |\n| --- | --- | --- | --- |\n")
	for _, k := range Kinds {
		fmt.Fprintf(&b, "| %s |", k)
		for _, a := range []Action{Attach, Dismiss, ReRead} {
			b.WriteString(map[bool]string{true: " yes |", false: " no |"}[slices.Contains(permitted[k], a)])
		}
		b.WriteString("\n")
	}
	return b.String()
}
