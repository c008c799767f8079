package policy

import (
	"time"

	"github.com/einmal/einmal/internal/domain/message"
)

// Test is an example of a policy file: requests and what becomes of their messages, in virtual time, and how each
// request has to be decided.
type Test struct {
	Name   string
	Line   int
	Steps  []Step
	Expect []Expectation // one for each request, in their order
}

// Step is one thing that happens: a request, or news of a message.
type Step struct {
	Line int
	At   time.Duration // since the test's beginning
	Send *Send         // nil: news
	// Outcome is the state that the message takes, and Of the request that made it, from 1; 0: the last message.
	Outcome message.State
	Of      int
}

// Send is a request of a test.
type Send struct {
	To, Region, Purpose         string
	Event                       Event
	Sender                      string
	TemplateID, TemplateVersion string
	Text, CorrelationID         string
	Metadata, Header            map[string]string
	ValidFor                    string
	APIKey                      string // the key's name or id
	AnswerLost                  bool   // the answer never reached the caller
	// Written are its members as they stand in the file, by their pointers in the API, such as "#/event/id"; "#" is all of it.
	Written map[string]Written
}

// Written is where a member of a request stands in the file, and in which form. The API tells texts from numbers:
// what it refuses can be read here, and is refused by the test.
type Written struct {
	Line, Column int
	Form         Form
	Text         string
}

// Form is a form of values that JSON and YAML share. Objects are FormText here: their form is the reader's matter.
type Form uint8

// The forms.
const (
	FormText Form = iota
	FormNumber
	FormBool
)

// Expectation is how a request has to be decided. Words that are "" say nothing.
type Expectation struct {
	Line int
	Text string // as it is written
	// Invalid expects that the request is refused, since something is missing or wrong in it.
	Invalid bool
	// Would expects that the action was not done, but only recorded (mode monitor).
	Would                 bool
	Action, Class, Reason string
	Of                    int // the request whose message the answer names or was compared with, from 1; 0: any
}
