//go:build services

package interop

import (
	"encoding/hex"
	"testing"

	"github.com/einmal/einmal/internal/provider"
	wire "github.com/einmal/einmal/internal/smpp"
)

// TestOthersJoinOurParts: a part of a long message is one to another message centre too, however it is sent.
func TestOthersJoinOurParts(t *testing.T) {
	const text = "Part two"
	part := func(by provider.Joining) provider.Segment {
		return provider.Segment{Number: 2, Total: 3, Reference: 0x12CC, By: by}
	}
	eachLibrary(t, func(t *testing.T, l library) {
		p, c := centre(t, l)
		for by, want := range map[provider.Joining]struct {
			esm    float64
			octets string
			tlvs   []wire.TLV
		}{
			provider.JoinedByUDH8:  {wire.ESMUDHI, "\x05\x00\x03\xcc\x03\x02" + text, nil},
			provider.JoinedByUDH16: {wire.ESMUDHI, "\x06\x08\x04\x12\xcc\x03\x02" + text, nil},
			provider.JoinedBySAR: {0, text, []wire.TLV{
				{Tag: wire.TagSARMsgRefNum, Value: []byte{0x12, 0xcc}}, {Tag: wire.TagSARTotalSegments, Value: []byte{3}}, {Tag: wire.TagSARSegmentSeqnum, Value: []byte{2}},
			}},
			provider.JoinedByPayload: {0, "", []wire.TLV{{Tag: wire.TagMessagePayload, Value: []byte(text)}}},
		} {
			outcomes := c.submitPart(text, part(by))
			s := p.receive("submit_sm")
			if s.Fields["esm_class"] != want.esm || s.Fields["short_message_hex"] != hex.EncodeToString([]byte(want.octets)) || len(s.TLVs) != 1+len(want.tlvs) {
				t.Errorf("%s: %+v", by, s)
			}
			for _, w := range want.tlvs {
				if v := s.tlv(uint16(w.Tag)); v == nil || !l.same(*v, w) {
					t.Errorf("%s: TLV %v is %+v", by, w.Tag, v)
				}
			}
			p.answer(s, 0, map[string]any{"message_id": string(by)})
			if o := outcome(t, outcomes); o.Kind != provider.Accepted || string(o.ExternalID) != string(by) {
				t.Errorf("%s: %+v", by, o)
			}
		}
		go c.stop()
		p.answer(p.receive("unbind"), 0, nil)
	})
}
