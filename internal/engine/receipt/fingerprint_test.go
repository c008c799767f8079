package receipt

import (
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/provider"
)

func plainKey(form []byte) intent.Key {
	sum := sha256.Sum256(form)
	return intent.Key(sum[:16])
}

func delivered() provider.RawEvent {
	return provider.RawEvent{Payload: []byte("pdu"), Parsed: provider.Parsed{
		Kind: provider.KindReceipt, ExternalID: []byte("A1"), Reference: 7, HasReference: true, Status: "DELIVRD", State: "delivered",
		ErrorCode: "000", Source: "12025550100", Dest: "SHOP", SubmitDate: "2612010900", DoneDate: "2612010901",
	}}
}

// Whatever differs in a component is another event; what is none is the same one.
//
// covers: R3
func TestEventKey(t *testing.T) {
	first := delivered()
	same := EventKey(plainKey, 1, &first)
	for name, c := range map[string]struct {
		change func(e *provider.RawEvent)
		differ bool
	}{
		"kind":             {func(e *provider.RawEvent) { e.Parsed.Kind = provider.KindIntermediate }, true},
		"message id":       {func(e *provider.RawEvent) { e.Parsed.ExternalID = []byte("a1") }, true},
		"reference":        {func(e *provider.RawEvent) { e.Parsed.Reference = 8 }, true},
		"no reference":     {func(e *provider.RawEvent) { e.Parsed.HasReference = false }, true},
		"status":           {func(e *provider.RawEvent) { e.Parsed.Status = "delivrd" }, true},
		"error code":       {func(e *provider.RawEvent) { e.Parsed.ErrorCode = "0" }, true},
		"done date":        {func(e *provider.RawEvent) { e.Parsed.DoneDate = "2612010902" }, true},
		"source":           {func(e *provider.RawEvent) { e.Parsed.Source = "+12025550100" }, true},
		"destination":      {func(e *provider.RawEvent) { e.Parsed.Dest = "shop" }, true},
		"event id":         {func(e *provider.RawEvent) { e.Parsed.EventID = "1" }, true},
		"normalised state": {func(e *provider.RawEvent) { e.Parsed.State = "undelivered" }, false},
		"submit date":      {func(e *provider.RawEvent) { e.Parsed.SubmitDate = "2612010800" }, false},
		"payload":          {func(e *provider.RawEvent) { e.Payload = []byte("other sequence number") }, false},
		"bind and peer":    {func(e *provider.RawEvent) { e.Bind, e.Peer = "b", "p" }, false},
	} {
		e := delivered()
		c.change(&e)
		if got := EventKey(plainKey, 1, &e) != same; got != c.differ {
			t.Errorf("another %s: differs %t, want %t", name, got, c.differ)
		}
	}
	if e := delivered(); EventKey(plainKey, 2, &e) == same {
		t.Error("the same event in another id space has the same key")
	}
}

// Without a message id the submit date tells apart what shares a reference; the provider's own event id is
// enough alone; what cannot be read is itself.
func TestEventKeyOfTheOthers(t *testing.T) {
	one, two := delivered(), delivered()
	one.Parsed.ExternalID, two.Parsed.ExternalID = nil, nil
	two.Parsed.SubmitDate = "2612020900"
	if EventKey(plainKey, 1, &one) == EventKey(plainKey, 1, &two) {
		t.Error("a reference that is used again makes one event of two")
	}
	one.Parsed.EventID, two.Parsed.EventID = "ev-1", "ev-1"
	if EventKey(plainKey, 1, &one) != EventKey(plainKey, 1, &two) {
		t.Error("the provider's event id is not enough")
	}
	a := provider.RawEvent{Payload: []byte("a"), Parsed: provider.Parsed{Kind: provider.KindUnreadable}}
	b := provider.RawEvent{Payload: []byte("b"), Parsed: provider.Parsed{Kind: provider.KindUnreadable}}
	if EventKey(plainKey, 1, &a) == EventKey(plainKey, 1, &b) {
		t.Error("two unreadable calls are one event")
	}
	a.Payload, b.Payload, a.Framing, b.Framing = []byte("1 same"), []byte("2 same"), 2, 2
	if EventKey(plainKey, 1, &a) != EventKey(plainKey, 1, &b) {
		t.Error("an unreadable call that is sent again is another event: people are told of it twice")
	}
	a.Parsed.Kind, b.Parsed.Kind = provider.KindInbound, provider.KindInbound
	if EventKey(plainKey, 1, &a) == EventKey(plainKey, 1, &b) {
		t.Error("a person who writes the same twice has written once")
	}
}

// Nothing that a provider sends can be a row that the store refuses for ever.
//
// covers: R1, R11
func TestLoggedIsStorable(t *testing.T) {
	bad := "a\x00b\xff"
	e := delivered()
	e.Peer, e.Bind, e.Headers = bad, bad, map[string]string{bad: bad}
	p := &e.Parsed
	p.EventID, p.Status, p.ErrorCode, p.Source, p.Dest, p.SubmitDate, p.DoneDate, p.Parser, p.Problem = bad, bad, bad, bad, bad, bad, bad, bad, bad
	p.Extra, p.Warnings = map[string]string{bad: bad}, []string{bad}
	p.ExternalID = []byte(bad)
	r := Logged(plainKey, 3, 4, &e)
	const want = "a\ufffdb\ufffd"
	for _, s := range []string{r.Peer, r.Bind, r.EventID, r.Status, r.ErrorCode, r.Source, r.Dest, r.SubmitDate, r.DoneDate, r.Parser} {
		if s != want {
			t.Errorf("%q is stored as text", s)
		}
	}
	for _, s := range []string{r.Parsed, r.Headers} {
		if !json.Valid([]byte(s)) || strings.Contains(s, "\\u0000") || !strings.Contains(s, want) {
			t.Errorf("%s is stored as JSON", s)
		}
	}
	if string(r.ExternalID) != bad || r.Connection != 3 || r.IDSpace != 4 || r.Reference != 7 || r.ID.IsZero() {
		t.Errorf("stored %+v", r)
	}
}

func TestLoggedKeepsWhatItCannotUseFromHarm(t *testing.T) {
	long := delivered()
	long.Parsed.ExternalID = []byte(strings.Repeat("x", provider.LongestID+1))
	if r := Logged(plainKey, 1, 1, &long); r.Kind != "unreadable" || r.ExternalID != nil {
		t.Errorf("an id of %d bytes is a %s", provider.LongestID+1, r.Kind)
	}
	inbound := delivered()
	inbound.Parsed.Text, inbound.Parsed.Extra = "secret", map[string]string{"octets": "736563726574", "udh": "00"}
	inbound.Parsed.HasReference = false
	if r := Logged(plainKey, 1, 1, &inbound); strings.Contains(r.Parsed, "secret") || strings.Contains(r.Parsed, "736563") ||
		!strings.Contains(r.Parsed, `"udh":"00"`) || r.Reference != -1 {
		t.Errorf("stored beside the sealed payload: %s", r.Parsed)
	}
}
