package smpptest_test

import (
	"math"
	"testing"

	"github.com/einmal/einmal/internal/smpp"
	"github.com/einmal/einmal/internal/smpp/smpptest"
)

// TestSamplesAreComplete: a command or a TLV that is added to the codec needs a sample, or no other implementation
// checks it.
func TestSamplesAreComplete(t *testing.T) {
	commands, tags := map[smpp.CommandID]bool{}, map[smpp.Tag]bool{}
	for _, s := range smpptest.Samples() {
		commands[s.PDU.Command] = true
		for _, v := range s.PDU.TLVs {
			tags[v.Tag] = true
		}
	}
	known := 0
	for id := range smpp.CommandID(0x1000) {
		for _, c := range []smpp.CommandID{id, id.Response()} {
			if c.Known() {
				known++
			}
			if c.Known() && !commands[c] {
				t.Errorf("no sample of %v", c)
			}
		}
	}
	if known != len(commands) || known != 27 {
		t.Errorf("%d commands are known, the samples have %d; SMPP 3.4 has 27", known, len(commands))
	}
	listed := 0
	for tag := range math.MaxUint16 + 1 {
		if tag := smpp.Tag(tag); tag.String()[0] != '0' {
			listed++
			if !tags[tag] {
				t.Errorf("no sample of TLV %v", tag)
			}
		}
	}
	if listed != 44 {
		t.Errorf("%d TLVs have names; SMPP 3.4 has 44", listed)
	}
}
