// Package policy reads policy files: which purposes there are, what makes two requests of a purpose the same
// intent, and for how long.
//
// The form is strict. Whatever is misspelt, impossible or without an end is refused with file, line, column and
// what would be right, all errors of a file at once: a policy that means something else than its author thinks
// texts somebody twice, or never.
package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
)

// Policy is one version of one policy file.
type Policy struct {
	Name     string
	Version  int
	Mode     Mode
	Region   string // for numbers in local form: ISO 3166-1, two capitals; "" for none
	Purposes map[string]Purpose
	// Mapping are the rules that give an intent to requests that name none, in the order in which they are looked at.
	Mapping []Rule
	Tests   []Test
	// RefuseUnnamed refuses requests that name no purpose; else they get Unnamed.
	RefuseUnnamed bool
}

// Mode says what deduplication does with what it finds.
type Mode string

// The modes.
const (
	Enforce Mode = "enforce" // it acts on it
	Monitor Mode = "monitor" // it records what it would have done, and lets the request through (X3)
)

// Purpose is the rules of one purpose.
type Purpose struct {
	Name        string
	Kind        Kind
	Key         []KeyPart // beside tenant, purpose and destination, which are part of every key (D1)
	Window      Window
	OnOtherText OtherText
	Mode        Mode
	// Unnamed marks the purpose of requests that name none: whatever they have is part of their key, and what
	// they do not have is no mistake.
	Unnamed bool
}

// Kind is what sort of message a purpose sends.
type Kind string

// The kinds.
const (
	KindAuthentication Kind = "authentication" // holds a secret: texts are sealed, masked and erased (D15)
	KindAlert          Kind = "alert"
	KindConfirmation   Kind = "confirmation"
	KindCampaign       Kind = "campaign"
	KindService        Kind = "service"
)

// KeyPart is a field of a request that can be part of a purpose's key.
type KeyPart string

// The parts that a policy may name. Neither the text nor the number alone can be a key (D1), so the text is none
// of them.
const (
	KeyEventType       KeyPart = "event.type"
	KeyEventID         KeyPart = "event.id"
	KeyEventVersion    KeyPart = "event.version"
	KeySender          KeyPart = "sender"
	KeyTemplateID      KeyPart = "template.id"
	KeyTemplateVersion KeyPart = "template.version"
	KeyCorrelationID   KeyPart = "correlation_id"
)

// OtherText is what follows when a request has the key of an earlier one and another text (D17).
type OtherText string

// The answers to another text.
const (
	OtherTextSuppress OtherText = "suppress" // keep the first, and say that the text differs
	OtherTextAllow    OtherText = "allow"    // another text is a new version
)

// Window is how long an intent is kept from being sent again. It is of one of two forms: a duration from the
// decision, or bound to the message's state.
type Window struct {
	// Duration is the window's length; 0 for one that is bound to states.
	Duration time.Duration
	// While are the states, among those in which a message can end, that keep the window open. States in which
	// something is still owed always do.
	While []message.State
	// AtMost ends a window that is bound to states; 0 for a duration.
	AtMost time.Duration
}

// EventBound reports whether the window is bound to states.
func (w Window) EventBound() bool { return w.AtMost > 0 }

// Limit is the longest that the window can be open.
func (w Window) Limit() time.Duration { return max(w.Duration, w.AtMost) }

// ID names the policy's version, such as "shop@7". Decisions carry it.
func (p *Policy) ID() string { return fmt.Sprintf("%s@%d", p.Name, p.Version) }

// Purpose looks a purpose up. The error says which names there are, or the nearest one, and does not repeat
// what was asked for.
func (p *Policy) Purpose(name string) (Purpose, error) {
	if found, ok := p.Purposes[name]; ok {
		return found, nil
	}
	known := slices.Sorted(maps.Keys(p.Purposes))
	return Purpose{}, errors.New("unknown purpose: " + suggestion(name, known))
}
