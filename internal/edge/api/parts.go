package api

import (
	"fmt"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/store"
)

// PartView is a part of a message as it stands now: by its last attempt, or the one that was reported as delivered.
type PartView struct {
	Part       int     `json:"part" doc:"Counts from 1."`
	Attempts   int     `json:"attempts" doc:"How often it was tried."`
	Outcome    *string `json:"outcome" doc:"What is known of its submission, as with attempts; null: it was not tried yet."`
	Delivery   *string `json:"reported_delivery" doc:"What receipts report of it; null: nothing yet."`
	ExternalID *string `json:"external_id" doc:"The provider's message id of it, as with attempts."`
}

// Parts says of a message how its text is cut, and how far the parts have come.
type Parts struct {
	Parts    int        `json:"parts" doc:"How many parts the text is sent in."`
	Encoding string     `json:"encoding,omitempty" doc:"How the text goes over the air: gsm7 or ucs2. Accept unknown values."`
	Partial  bool       `json:"partial" doc:"Some parts have come further than others: the provider has some and not all of them, or some are reported delivered and not all. A handset shows a long text when it has all parts."`
	ByPart   []PartView `json:"by_part" nullable:"false" doc:"Each part as it stands now."`
}

func partsOf(m *store.Message) Parts {
	counting := message.Counting(m.Text.Parts, m.Parts())
	v := Parts{
		Parts: len(counting), Encoding: string(outbound.EncodingOf(m.Text)), Partial: m.Progress().Partial(),
		ByPart: make([]PartView, len(counting)),
	}
	for i, p := range counting {
		v.ByPart[i].Part = i + 1
		for j := range m.Attempts {
			if t := &m.Attempts[j]; t.Part == p.Part {
				v.ByPart[i].Attempts++
				if t.Attempt.Attempt == p.Attempt {
					v.ByPart[i].fill(t)
				}
			}
		}
	}
	return v
}

// fill shows the attempt that stands for the part.
func (v *PartView) fill(t *store.Attempt) {
	v.Outcome, v.ExternalID = orNull(t.Outcome.String()), externalID(t.ExternalID)
	if t.DeliveredAt != 0 {
		v.Delivery = orNull(t.Delivery.String())
	}
}

// partWords say how far the parts of a long message have come; "": it has one, or they stand alike.
func partWords(m *store.Message) string {
	p := m.Progress()
	switch {
	case !p.Partial():
		return ""
	case p.Taken < p.Parts:
		return fmt.Sprintf(" The provider has %d of its %d parts.", p.Taken, p.Parts)
	}
	return fmt.Sprintf(" %d of its %d parts are reported delivered.", p.Delivered, p.Parts)
}
