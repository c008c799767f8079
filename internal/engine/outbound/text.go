package outbound

import (
	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/request"
	"github.com/einmal/einmal/internal/provider"
)

// Encoding is how a text goes over the air.
type Encoding string

// The encodings.
const (
	GSM7 Encoding = "gsm7" // the default alphabet of 3GPP TS 23.038
	UCS2 Encoding = "ucs2"
)

// EncodingOf is the encoding of a text that is cut; "": it is not known how.
func EncodingOf(l message.Layout) Encoding {
	switch {
	case l.Parts == 0:
		return ""
	case l.DataCoding == gsm.CodingUCS2:
		return UCS2
	}
	return GSM7
}

// Long says what a connection does with texts of more than one part.
type Long struct {
	MostParts int              // 0: request.DefaultMostParts; never more than gsm.MaxParts
	JoinedBy  provider.Joining // "": provider.JoinedByUDH8
}

func (l Long) most() int {
	if l.MostParts == 0 {
		return request.DefaultMostParts
	}
	return min(l.MostParts, gsm.MaxParts)
}

func (l Long) joinedBy() provider.Joining {
	if l.JoinedBy == "" {
		return provider.JoinedByUDH8
	}
	return l.JoinedBy
}

// bits is the width of the reference that parts leave room for. A message centre may make either of the sar_
// parameters, and of a payload: the wider one is counted with.
func (l Long) bits() gsm.ReferenceBits {
	if l.joinedBy() == provider.JoinedByUDH8 {
		return gsm.Reference8
	}
	return gsm.Reference16
}

// cut is a text as it is to be sent.
type cut struct {
	layout message.Layout
	ends   []int // where in the text its parts end, but for the last
	left   int   // units that the last part has room for
}

// cut chooses how a text is sent that needs these parts on air.
func (l Long) cut(m gsm.Message) cut {
	c := cut{left: m.Left(l.bits())}
	c.layout = message.Layout{Parts: len(m.Parts), DataCoding: m.DataCoding}
	if len(m.Parts) == 1 {
		return c
	}
	c.layout.JoinedBy = string(l.joinedBy())
	if l.joinedBy() == provider.JoinedByPayload {
		c.layout.Parts = 1 // the message centre cuts it
		return c
	}
	end := 0
	for _, p := range m.Parts[:len(m.Parts)-1] {
		end += len(p.Text)
		c.ends = append(c.ends, end)
	}
	return c
}
