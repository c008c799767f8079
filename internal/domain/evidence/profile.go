package evidence

import (
	"slices"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/receipt"
)

// Profile is what is declared of a connection's receipts. The zero value declares nothing.
type Profile struct {
	// EchoesReference: receipts carry our own reference.
	EchoesReference bool
	IDs             receipt.IDs // how message ids are written in answers and in receipts
	// Corrections are the final reports that a later one of the same part replaces.
	Corrections []message.Correction
}

// Declare adds to a receipt's facts what is declared of its connection.
func (p *Profile) Declare(r *ReceiptFacts) {
	r.TwoBases, r.Corrections = p.IDs.TwoBases(), p.Corrections
}

func (r *ReceiptFacts) corrects(from, to message.Delivery) bool {
	return slices.Contains(r.Corrections, message.Correction{From: from, To: to})
}
