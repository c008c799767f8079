package smpp

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/provider"
	wire "github.com/einmal/einmal/internal/smpp"
)

// TestOutcomes is the whole table from what happened to a submit_sm to what is known about it.
//
// covers: D9
func TestOutcomes(t *testing.T) {
	resp := func(status wire.Status, body wire.Body) wire.Result {
		return wire.Result{Written: true, PDU: &wire.PDU{Command: wire.CmdSubmitSMResp, Status: status, Body: body}}
	}
	id := func(s string) wire.Body { return &wire.MessageID{ID: s} }
	longest := strings.Repeat("x", 255)
	nack := resp(wire.StatusOK, nil)
	nack.PDU.Command = wire.CmdGenericNack
	broken := resp(wire.StatusOK, nil)
	broken.Err = wire.ErrTruncated
	for name, c := range map[string]struct {
		in    wire.Result
		kind  provider.OutcomeKind
		id    string
		pause bool
	}{
		"accepted":               {resp(0, id("00aB")), provider.Accepted, "00aB", false},
		"accepted, no id":        {resp(0, id("")), provider.Accepted, "", false},
		"accepted, id null":      {resp(0, id("null")), provider.Accepted, "", false},
		"accepted, longest id":   {resp(0, id(longest)), provider.Accepted, longest, false},
		"accepted, longer id":    {resp(0, id(longest+"x")), provider.Accepted, "", false},
		"accepted, no body":      {resp(0, nil), provider.Accepted, "", false},
		"throttled":              {resp(0x58, nil), provider.Throttled, "", false},
		"queue full":             {resp(0x14, nil), provider.Throttled, "", false},
		"temporary":              {resp(0x64, nil), provider.Throttled, "", false},
		"permanent":              {resp(0x0B, id("x")), provider.Rejected, "", false},
		"vendor":                 {resp(0x401, nil), provider.Rejected, "", false},
		"account":                {resp(0x48, nil), provider.Rejected, "", true},
		"bind state":             {resp(0x04, nil), provider.Rejected, "", true},
		"system error":           {resp(0x08, nil), provider.Unknown, "", false},
		"unknown error":          {resp(0xFF, nil), provider.Unknown, "", false},
		"reserved code":          {resp(0x09, nil), provider.Unknown, "", false},
		"nack without a status":  {nack, provider.Unknown, "", false},
		"unreadable answer":      {broken, provider.Unknown, "", false},
		"response timer":         {wire.Result{Err: wire.ErrTimeout, Written: true}, provider.Unknown, "", false},
		"session lost, open":     {wire.Result{Err: wire.ErrClosed, Written: true}, provider.Unknown, "", false},
		"session lost, unsent":   {wire.Result{Err: wire.ErrClosed}, provider.NotSent, "", false},
		"too late":               {wire.Result{Err: wire.ErrExpired}, provider.NotSent, "", false},
		"write failed at once":   {wire.Result{Err: &net.OpError{Op: "write", Err: errors.New("x")}}, provider.NotSent, "", false},
		"cannot be written ever": {wire.Result{Err: &wire.FieldError{Field: "destination_addr"}}, provider.Rejected, "", false},
	} {
		got := New(Config{}).outcomeOf(c.in)
		if got.Kind != c.kind || string(got.ExternalID) != c.id || got.PauseConnection != c.pause || got.Late {
			t.Errorf("%s: %+v", name, got)
		}
		if got.Detail == "" || (c.in.PDU != nil) != (got.Code != "") {
			t.Errorf("%s: code %q, detail %q", name, got.Code, got.Detail)
		}
	}
	if got := New(Config{}).outcomeOf(resp(0, id(longest+"x"))).Detail; !strings.Contains(got, "255 octets") {
		t.Errorf("an id that was left out: detail %q", got)
	}
	late := resp(0, id("a"))
	late.Late = true
	if got := New(Config{}).outcomeOf(late); !got.Late || got.Kind != provider.Accepted {
		t.Errorf("late: %+v", got)
	}
}

// What a connection declares goes before the table, for this connection and these codes alone.
//
// covers: R7
func TestDeclaredStatuses(t *testing.T) {
	p := New(Config{Statuses: map[wire.Status]wire.Class{
		0x08: wire.ClassTemporary, 0x45: wire.ClassUnsure, 0x401: wire.ClassThrottle, 0x402: wire.ClassConfig, 0xFF: wire.ClassPermanent,
	}})
	for status, want := range map[wire.Status]provider.Outcome{
		0x08: {Kind: provider.Throttled}, 0x45: {Kind: provider.Unknown}, 0x401: {Kind: provider.Throttled, SlowDown: true},
		0x402: {Kind: provider.Rejected, PauseConnection: true}, 0xFF: {Kind: provider.Rejected},
		0x403: {Kind: provider.Rejected}, 0x58: {Kind: provider.Throttled, SlowDown: true}, 0x09: {Kind: provider.Unknown},
	} {
		_, declared := p.cfg.Statuses[status]
		got := p.outcomeOf(wire.Result{Written: true, PDU: &wire.PDU{Command: wire.CmdSubmitSMResp, Status: status}})
		if got.Kind != want.Kind || got.SlowDown != want.SlowDown || got.PauseConnection != want.PauseConnection || got.Code != status.String() {
			t.Errorf("%s: %+v, want %+v", status, got, want)
		}
		if strings.Contains(got.Detail, "declares") != declared {
			t.Errorf("%s: detail %q", status, got.Detail)
		}
	}
}

func TestAddressRules(t *testing.T) {
	for sender, want := range map[string]wire.Address{
		"SHOP":         {TON: 5, NPI: 0, Addr: "SHOP"},
		"4U":           {TON: 5, NPI: 0, Addr: "4U"},
		"+A1":          {TON: 5, NPI: 0, Addr: "+A1"},
		"12345":        {TON: 3, NPI: 0, Addr: "12345"},
		"+12345":       {TON: 1, NPI: 1, Addr: "12345"},
		"+12025550100": {TON: 1, NPI: 1, Addr: "12025550100"},
		"12025550100":  {TON: 1, NPI: 1, Addr: "12025550100"},
	} {
		if got := DefaultAddressRules.source(sender); got != want {
			t.Errorf("%q: %+v, want %+v", sender, got, want)
		}
	}
	if got := DefaultAddressRules.destination("+12025550143"); got != (wire.Address{TON: 1, NPI: 1, Addr: "12025550143"}) {
		t.Errorf("destination: %+v", got)
	}
}

// What an attempt's record says is what is built for the wire, whatever the connection declares.
//
// covers: R15
func TestAddressesAreRecordedAsTheyAreSent(t *testing.T) {
	for _, rules := range []*AddressRules{nil, {Alphanumeric: TONNPI{5, 1}, ShortCode: TONNPI{6, 0}, Number: TONNPI{0, 1}, Destination: TONNPI{2, 8}, ShortCodeDigits: 4}} {
		p := New(Config{Addresses: rules})
		for _, sender := range []string{"SHOP", "4711", "47110", "+12025550100"} {
			pdu, err := p.build(provider.Submission{Source: sender, Destination: "+12025550143", Text: "hi"})
			if err != nil {
				t.Fatal(err)
			}
			m := pdu.Body.(*wire.Message)
			if source, dest := p.Addressing(sender, "+12025550143"); source != written(m.Source) || dest != written(m.Dest) {
				t.Errorf("recorded %s and %s, built %+v and %+v", source, dest, m.Source, m.Dest)
			}
		}
	}
}

func TestBackoff(t *testing.T) {
	p := New(Config{})
	for status, want := range map[wire.Status]time.Duration{
		wire.StatusInvPassword: 5 * time.Minute, wire.StatusInvSystemID: 5 * time.Minute,
		wire.StatusInvSysType: 5 * time.Minute, wire.StatusAlreadyBound: 5 * time.Second, 0x0D: time.Minute,
	} {
		if d := p.backoff(time.Minute, &bindError{status}); d != want {
			t.Errorf("after %v: %v, want %v", status, d, want)
		}
	}
	if d := p.backoff(time.Minute, wire.ErrClosed); d != time.Minute {
		t.Errorf("after a lost session: %v", d)
	}
}

func TestJitter(t *testing.T) {
	for range 1000 {
		if d := jitter(time.Second, time.Minute); d < time.Second || d > 1500*time.Millisecond {
			t.Fatal(d)
		}
		if d := jitter(time.Minute, time.Minute); d != time.Minute {
			t.Fatal(d)
		}
	}
}
