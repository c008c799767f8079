package simulator

import (
	"strconv"
	"sync"
	"time"

	wire "github.com/einmal/einmal/internal/smpp"
)

// maxStates bounds the memory for query_sm.
const maxStates = 100_000

// enRoute is the message_state of what is not final yet (section 5.2.28).
const enRoute = 1

// fate is what becomes of a message, for query_sm. Whoever asks must be who submitted it.
type fate struct {
	systemID string
	source   wire.Address
	last     *report   // the receipt that makes it final, asked for or not; nil if none does
	at       time.Time // when it does
}

// fates are those of the latest messages.
type fates struct {
	mu    sync.Mutex
	all   map[string]fate
	order []string
}

func (f *fates) add(id string, of fate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[string]fate{}
	}
	if len(f.order) >= maxStates {
		delete(f.all, f.order[0])
		f.order = f.order[1:]
	}
	f.all[id] = of
	f.order = append(f.order, id)
}

// tell answers a query_sm.
func (f *fates) tell(systemID string, q *wire.Query, now time.Time) (*wire.QueryResp, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of, ok := f.all[q.MessageID]
	if !ok || of.systemID != systemID || of.source != q.Source {
		return nil, false
	}
	resp := &wire.QueryResp{MessageID: q.MessageID, MessageState: enRoute}
	if of.last != nil && !now.Before(of.at) {
		code, _ := strconv.ParseUint(of.last.err, 10, 8) // what is no number is 0: no code
		resp.FinalDate, resp.MessageState, resp.ErrorCode = wire.AbsoluteTime(of.at), of.last.state, uint8(code)
	}
	return resp, true
}

func (c *client) query(s *wire.Session, pdu *wire.PDU) {
	resp, ok := c.server.fates.tell(c.systemID, pdu.Body.(*wire.Query), c.server.cfg.Clock.Now())
	if !ok {
		s.Answer(pdu, wire.StatusInvMsgID)
		return
	}
	s.Respond(&wire.PDU{Command: wire.CmdQuerySMResp, Sequence: pdu.Sequence, Body: resp})
}

// remember keeps what an ending makes of a message.
func (c *client) remember(e ending, msg *taken) {
	of := fate{systemID: c.systemID, source: msg.message.Source, at: msg.at.Add(c.server.delay(e.slow))}
	for i := range e.reports {
		if e.reports[i].esm == wire.ESMReceipt {
			of.last = &e.reports[i]
			break
		}
	}
	c.server.fates.add(msg.id, of)
}
