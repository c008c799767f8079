package evidence

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// The moments of a message in these tests.
const (
	second   = clock.Micros(1_000_000)
	made     = 1_000_000 * second
	valid    = made + 100*second // its validity ends
	receipts = made + 1000*second
	flow     = 17
)

// pending is a message of one part that nobody has claimed.
func pending() *Case {
	return &Case{
		Message: ident.Message{1}, Tenant: 3, Connection: 5, Parts: 1, CreatedAt: made, ValidUntil: valid, ReceiptUntil: receipts,
		EventBound: true, While: []message.State{message.Delivered}, Flow: flow,
		State: message.Pending, Since: made, LastN: 1,
	}
}

// claimed is the message under a lease of ten seconds.
func claimed() *Case {
	c := pending()
	c.claim(made)
	return c
}

// claim does what the store does to a pending message that a worker takes.
func (c *Case) claim(now clock.Micros) {
	c.State, c.Since, c.Leased, c.Fence, c.ReadyAt = message.Sending, now, true, c.Fence+1, now+10*second
}

// open does what the store does when the worker begins an attempt of a part.
func (c *Case) open(part uint16) *Case {
	c.Attempts = append(c.Attempts, Attempt{Attempt: c.NextAttempt(part), Part: part, Outcome: message.OutcomeOpen, Reference: -1, Fence: c.Fence})
	return c
}

// sending is the message with one open attempt for each of its parts.
func sending(parts int) *Case {
	c := claimed()
	c.Parts = parts
	for p := range parts {
		c.open(uint16(p + 1))
	}
	return c
}

// sent is the message after its one attempt was answered.
func sent(o message.Outcome) *Case {
	c := sending(1)
	if err := c.Apply(answer(o), made+second); err != nil {
		panic(err)
	}
	return c
}

func answer(o message.Outcome) Evidence {
	e := Evidence{Kind: Outcome, Attempt: 1, Part: 1, Outcome: o, Code: "0x00000045", CodeName: "ESME_RSUBMITFAIL"}
	if o == message.OutcomeAccepted {
		e.ExternalID, e.Code, e.CodeName = []byte("A1B2"), "0x00000000", ""
	}
	return e
}

// report is a receipt about the first attempt with a status of appendix B as the receipt's reader understands it.
func report(status string) Evidence {
	state := map[string]message.Delivery{
		"DELIVRD": message.DeliveryDelivered, "UNDELIV": message.DeliveryUndelivered, "REJECTD": message.DeliveryUndelivered,
		"EXPIRED": message.DeliveryExpired, "ENROUTE": message.DeliveryEnRoute, "ACCEPTD": message.DeliveryAccepted, "UNKNOWN": message.DeliveryUnknown,
	}[status]
	r := &ReceiptFacts{ID: ident.Receipt{9}, ExternalID: []byte("A1B2"), Reference: -1, Status: status, ErrorCode: "001", Final: state.Final(), Quality: ByExternalID}
	if state != message.DeliveryNone {
		r.State = state.String()
	}
	return Evidence{Kind: Receipt, Attempt: 1, Part: 1, Receipt: r}
}

func repeated(e Evidence) Evidence {
	r := *e.Receipt
	r.ID, r.Repeated = ident.Receipt{10}, true
	e.Receipt = &r
	return e
}

func intermediate(e Evidence) Evidence {
	r := *e.Receipt
	r.Final = false
	e.Receipt = &r
	return e
}

func about(part uint16, e Evidence) Evidence {
	e.Part = part
	if e.Kind == Outcome && e.Outcome == message.OutcomeAccepted {
		e.ExternalID = fmt.Appendf(nil, "11%d", part)
	}
	return e
}

// apply gives the case its evidence, a second between two.
func (c *Case) apply(t testing.TB, all ...Evidence) *Case {
	t.Helper()
	for i, e := range all {
		if err := c.Apply(e, made+second*clock.Micros(2+i)); err != nil {
			t.Fatalf("evidence %d: %v", i+1, err)
		}
	}
	return c
}

// clone copies a case to its depth.
func clone(c *Case) *Case {
	d := *c
	d.While, d.Attempts, d.Exceptions = slices.Clone(c.While), slices.Clone(c.Attempts), slices.Clone(c.Exceptions)
	for i := range d.Attempts {
		d.Attempts[i].ExternalID = slices.Clone(c.Attempts[i].ExternalID)
	}
	d.Events = slices.Clone(c.Events)
	for i := range d.Events {
		d.Events[i].Detail = maps.Clone(c.Events[i].Detail)
	}
	return &d
}

// facts is the case without its history.
func facts(c *Case) Case {
	d := clone(c)
	d.Events, d.Exceptions, d.LastN, d.Told, d.Effects = nil, nil, 0, nil, nil
	return *d
}

// refuses checks that evidence is refused with an error and leaves no trace.
func refuses(t testing.TB, c *Case, e Evidence, now clock.Micros, want error) {
	t.Helper()
	before := clone(c)
	if err := c.Apply(e, now); err != want {
		t.Errorf("evidence of kind %d while %s: %v, want %v", e.Kind, c.State, err, want)
	}
	if !reflect.DeepEqual(c, before) {
		t.Errorf("refused evidence of kind %d changed the case\nfrom %+v\n  to %+v", e.Kind, before, c)
	}
}

func kinds(c *Case) []EventKind {
	all := make([]EventKind, len(c.Events))
	for i, e := range c.Events {
		all[i] = e.Kind
	}
	return all
}

func excepted(c *Case) []exception.Kind {
	all := make([]exception.Kind, len(c.Exceptions))
	for i, x := range c.Exceptions {
		all[i] = x.Kind
	}
	return all
}

func wantState(t testing.TB, c *Case, s message.State, final bool) {
	t.Helper()
	if c.State != s || c.Final != final {
		t.Errorf("it is %s, final %v; want %s, final %v", c.State, c.Final, s, final)
	}
}

func wantKinds(t testing.TB, c *Case, want ...EventKind) {
	t.Helper()
	if got := kinds(c); !slices.Equal(got, want) {
		t.Errorf("the history says %q, want %q", got, want)
	}
}

func wantExceptions(t testing.TB, c *Case, want ...exception.Kind) {
	t.Helper()
	if got := excepted(c); !slices.Equal(got, want) {
		t.Errorf("there are exceptions %q, want %q", got, want)
	}
}

// at is a moment after the message was made.
func at(d time.Duration) clock.Micros { return made.Add(d) }
