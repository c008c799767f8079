package simulator

import wire "github.com/einmal/einmal/internal/smpp"

// report is one receipt of an ending.
type report struct {
	stat  string // the word in the text
	state uint8  // message_state
	err   string
	esm   uint8
	odd   bool // a format that nobody documents
}

var (
	delivered    = report{stat: "DELIVRD", state: 2, err: "000", esm: wire.ESMReceipt}
	undelivered  = report{stat: "UNDELIV", state: 5, err: "001", esm: wire.ESMReceipt}
	intermediate = report{stat: "ENROUTE", state: 1, err: "000", esm: wire.ESMIntermediate}
	oddFormat    = report{stat: "DELIVRD", state: 2, esm: wire.ESMReceipt, odd: true}
)

// ending is what the simulator does with a message.
type ending struct {
	outcome   Outcome
	status    wire.Status // of the answer, where the message is not taken
	throttles bool        // the first submission of a destination and text is throttled
	silent    bool        // no answer
	hangsUp   bool        // the connection is cut in place of an answer, once nothing else is under way on it
	early     bool        // the first receipt is out before the answer
	slow      bool        // receipts after Config.SlowReceipt
	reports   []report
}

// endings are chosen by the last two digits of the destination. All other digits end as 00.
var endings = map[string]ending{
	"00": {outcome: Accepted, reports: []report{delivered}},
	"01": {outcome: Accepted, reports: []report{undelivered}},
	"02": {outcome: Rejected, status: wire.StatusInvDestAddr},
	"03": {outcome: Accepted, throttles: true, reports: []report{delivered}},
	"04": {outcome: Accepted, silent: true, reports: []report{delivered}},
	"05": {outcome: Ignored, silent: true},
	"06": {outcome: Accepted, reports: []report{delivered, delivered}},
	"07": {outcome: Accepted, reports: []report{delivered, intermediate}},
	"08": {outcome: Accepted, reports: []report{delivered, undelivered}},
	"09": {outcome: Accepted, early: true, reports: []report{delivered}},
	"10": {outcome: Accepted, slow: true, reports: []report{delivered}},
	"11": {outcome: Accepted, reports: []report{oddFormat}},
	"12": {outcome: Accepted, silent: true, hangsUp: true, reports: []report{delivered}},
	"13": {outcome: Ignored, silent: true, hangsUp: true},
	"14": {outcome: Accepted},
}

func endingOf(destination string) ending {
	if n := len(destination); n >= 2 {
		if e, ok := endings[destination[n-2:]]; ok {
			return e
		}
	}
	return endings["00"]
}
