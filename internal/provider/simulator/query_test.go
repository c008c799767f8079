package simulator

import (
	"strconv"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/ground/clock"
	wire "github.com/einmal/einmal/internal/smpp"
)

// TestQuery: a message is en route until its receipt is due, whether one was asked for or not, and final then. Only
// who submitted it is told.
func TestQuery(t *testing.T) {
	at := clock.NewManual(time.Date(2026, 10, 3, 17, 45, 0, 120_000_000, time.UTC))
	s := start(t, Config{Clock: at, SlowReceipt: time.Hour})
	e := bind(t, s, wire.CmdBindTransceiver)
	ask := func(id string, source wire.Address) *wire.PDU {
		return e.request(wire.PDU{Command: wire.CmdQuerySM, Body: &wire.Query{MessageID: id, Source: source}}).PDU
	}
	shop := wire.Address{TON: 5, Addr: "SHOP"}
	for digits, want := range map[string]wire.QueryResp{
		"00": {FinalDate: "261003174500100+", MessageState: 2},
		"01": {FinalDate: "261003174500100+", MessageState: 5, ErrorCode: 1},
		"08": {FinalDate: "261003174500100+", MessageState: 2},
		"10": {MessageState: 1},
		"11": {FinalDate: "261003174500100+", MessageState: 2},
		"14": {MessageState: 1},
	} {
		p := submission(digits, "hi")
		p.Body.(*wire.Message).RegisteredDelivery = wire.ReceiptNone
		want.MessageID = e.request(p).PDU.Body.(*wire.MessageID).ID
		if got := ask(want.MessageID, shop); got.Status != 0 || *got.Body.(*wire.QueryResp) != want {
			t.Errorf("%s: %+v, want %+v", digits, got, want)
		}
		if got := ask(want.MessageID, wire.Address{Addr: "SHOP"}); got.Status != wire.StatusInvMsgID {
			t.Errorf("%s: another source is told %+v", digits, got)
		}
		if digits != "10" {
			continue
		}
		at.Advance(time.Hour)
		if got := ask(want.MessageID, shop); got.Body.(*wire.QueryResp).FinalDate != "261003184500100+" {
			t.Errorf("an hour later: %+v", got.Body)
		}
		at.Advance(-time.Hour)
	}
}

func TestFatesAreBounded(t *testing.T) {
	var f fates
	for i := range maxStates + 1 {
		f.add(strconv.Itoa(i), fate{})
	}
	_, first := f.tell("", &wire.Query{MessageID: "0"}, time.Time{})
	_, last := f.tell("", &wire.Query{MessageID: strconv.Itoa(maxStates)}, time.Time{})
	if first || !last || len(f.all) != maxStates || len(f.order) != maxStates {
		t.Errorf("the oldest is kept: %t, the newest: %t; %d of them", first, last, len(f.all))
	}
}
