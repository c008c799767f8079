package check

import (
	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/provider/simulator"
)

// Segment is a part of a text as the message centre sees it: its number, and what is in it.
type Segment struct {
	Number int // 1 also for a text that is whole
	Octets string
}

// SegmentOf is what a line of the ledger is about.
func SegmentOf(e *simulator.Entry) Segment {
	if e.Segment == nil || len(e.ShortMessage) <= int(e.ShortMessage[0]) {
		return Segment{1, string(e.ShortMessage)}
	}
	return Segment{int(e.Segment.Number), string(e.ShortMessage[1+e.ShortMessage[0]:])} // behind the user data header
}

// SegmentsOf finds intents by the segments of their texts.
func SegmentsOf(asks []*Ask) map[Segment]*Ask {
	all := map[Segment]*Ask{}
	for _, a := range asks {
		for i, octets := range segments(a.Text) {
			all[Segment{i + 1, octets}] = a
		}
	}
	return all
}

// segments cuts a text as the gateway does by default. One that is no text has none, and is never found.
func segments(text string) (all []string) {
	m, _ := gsm.Split(text, gsm.Reference8)
	for _, p := range m.Parts {
		all = append(all, string(p.Octets))
	}
	return all
}
