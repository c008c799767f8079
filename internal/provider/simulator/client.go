package simulator

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/einmal/einmal/internal/provider"
	wire "github.com/einmal/einmal/internal/smpp"
)

// client is one connection.
type client struct {
	server  *Server
	session *wire.Session
	box     atomic.Pointer[outbox] // nil while not bound
	cut     cut

	// Only the reading goroutine uses what follows.
	systemID string
	submits  bool
}

func (c *client) freed() {
	if box := c.box.Load(); box != nil {
		box.pump()
	}
}

func (c *client) handle(s *wire.Session, pdu *wire.PDU, _ []byte, err error) {
	c.cut.hear()
	switch {
	case err != nil:
		s.Answer(pdu, wire.StatusInvCmdLen)
	case !pdu.Command.HasResponse():
	case pdu.Command == wire.CmdBindTransceiver, pdu.Command == wire.CmdBindTransmitter,
		pdu.Command == wire.CmdBindReceiver:
		c.bind(s, pdu)
	case pdu.Command != wire.CmdSubmitSM && pdu.Command != wire.CmdQuerySM:
		s.Answer(pdu, wire.StatusInvCmdID)
	case !c.submits:
		s.Answer(pdu, wire.StatusInvBindStatus)
	case pdu.Command == wire.CmdQuerySM:
		c.query(s, pdu)
	default:
		c.submit(s, pdu, pdu.Body.(*wire.Message))
	}
}

func (c *client) bind(s *wire.Session, pdu *wire.PDU) {
	b := pdu.Body.(*wire.Bind)
	switch cfg := c.server.cfg; {
	case c.box.Load() != nil:
		s.Answer(pdu, wire.StatusAlreadyBound)
		return
	case cfg.SystemID != "" && cfg.SystemID != b.SystemID:
		s.Answer(pdu, wire.StatusInvSystemID)
		return
	case cfg.Password != "" && cfg.Password != b.Password:
		s.Answer(pdu, wire.StatusInvPassword)
		return
	case !c.server.admit(b.SystemID):
		s.Answer(pdu, wire.StatusAlreadyBound)
		return
	}
	resp := &wire.PDU{Command: pdu.Command.Response(), Sequence: pdu.Sequence, Body: &wire.BindResp{SystemID: "einmal-smsc"}}
	if b.InterfaceVersion >= wire.Version34 {
		resp.AddOctet(wire.TagSCInterfaceVersion, wire.Version34)
	}
	s.Respond(resp)
	c.systemID = b.SystemID
	c.submits = pdu.Command != wire.CmdBindReceiver
	box := c.server.outbox(b.SystemID)
	c.box.Store(box)
	if pdu.Command != wire.CmdBindTransmitter {
		box.attach(receiver{s, b.InterfaceVersion >= wire.Version34})
	}
}

// submit does with a message what its destination asks for. The ledger comes before everything that the other
// side can see.
func (c *client) submit(s *wire.Session, pdu *wire.PDU, m *wire.Message) {
	msg := taken{at: c.server.cfg.Clock.Now(), message: m}
	e := c.endingOf(pdu, m, msg.at)
	if e.outcome == Accepted {
		msg.id, msg.text = c.server.messageID(), textOf(pdu, m)
	}
	concat, _ := concatOf(pdu, m)
	ref := reference(pdu)
	if c.server.cfg.Echo {
		msg.ref = ref
	}
	err := c.server.ledger.add(Entry{
		At: msg.at, SystemID: c.systemID, Seq: pdu.Sequence, Reference: ref, Source: m.Source.Addr,
		Destination: m.Dest.Addr, MessageID: msg.id, ShortMessage: pdu.Octets(), Segment: segmentOf(concat), Outcome: e.outcome,
	})
	if err != nil {
		s.Answer(pdu, wire.StatusMsgQueueFull) // what is not in the ledger is not taken
		return
	}
	if e.outcome == Accepted {
		c.remember(e, &msg)
		c.server.handsets.add(m.Dest.Addr, c.systemID, concat, provider.PhoneMessage{
			At: msg.at, From: m.Source.Addr, Text: msg.text, MessageID: msg.id, Parts: 1,
		})
	}
	c.conclude(s, pdu, e, &msg)
}

// endingOf is what the destination asks for, unless the message is one that no message centre takes.
func (c *client) endingOf(pdu *wire.PDU, m *wire.Message, now time.Time) ending {
	if _, err := wire.ParseTime(m.ScheduleDeliveryTime, now); err != nil {
		return ending{outcome: Rejected, status: wire.StatusInvSchedule}
	}
	if _, err := wire.ParseTime(m.ValidityPeriod, now); err != nil {
		return ending{outcome: Rejected, status: wire.StatusInvExpiry}
	}
	e := endingOf(m.Dest.Addr)
	if e.throttles && c.server.throttle(m.Dest.Addr, pdu.Octets()) {
		return ending{outcome: Throttled, status: wire.StatusThrottled}
	}
	return e
}

func reference(pdu *wire.PDU) *uint16 {
	v, ok := pdu.TLVUint(wire.TagUserMessageReference)
	if !ok || v > 0xFFFF {
		return nil
	}
	ref := uint16(v)
	return &ref
}

// conclude answers, hangs up and sends receipts, in the order that the ending has.
func (c *client) conclude(s *wire.Session, pdu *wire.PDU, e ending, msg *taken) {
	answer := func() {
		if !e.silent {
			s.Respond(answerTo(pdu, e.status, msg.id))
		}
	}
	reports := make([]report, 0, len(e.reports))
	for _, r := range e.reports {
		if msg.wants(r) {
			reports = append(reports, r)
		}
	}
	box := c.box.Load()
	if e.early && len(reports) > 0 && box.listening() {
		c.cut.owe(1)
		c.send(box, msg, reports, sync.OnceFunc(func() {
			answer()
			c.cut.owe(-1)
		}))
		return
	}
	answer()
	report := func() { c.report(box, msg, reports, e.slow) }
	if e.hangsUp {
		c.cut.cutWhenQuiet(s, c.server.cfg.Window, report)
		return
	}
	report()
}

// report sends the receipts, at once or after the delay that the ending has.
func (c *client) report(box *outbox, msg *taken, reports []report, slow bool) {
	delay := c.server.delay(slow)
	if delay > 0 && len(reports) > 0 {
		time.AfterFunc(delay, func() { c.send(box, msg, reports, nil) })
		return
	}
	c.send(box, msg, reports, nil)
}

// send queues the first receipt; each other follows when the one before it was taken.
func (c *client) send(box *outbox, msg *taken, reports []report, tried func()) {
	if len(reports) == 0 {
		return
	}
	box.add(&delivery{
		pdu:   msg.receipt(reports[0], c.server.cfg.Clock.Now()),
		tried: tried,
		then:  func() { c.send(box, msg, reports[1:], nil) },
	})
}

func answerTo(pdu *wire.PDU, status wire.Status, id string) *wire.PDU {
	resp := &wire.PDU{Command: wire.CmdSubmitSMResp, Status: status, Sequence: pdu.Sequence}
	if status == wire.StatusOK {
		resp.Body = &wire.MessageID{ID: id}
	}
	return resp
}
