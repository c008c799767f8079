package app

import (
	"fmt"
	"slices"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
)

// Correction says that a final report replaces one that came before.
type Correction struct {
	From string `yaml:"from"` // delivered, undelivered, expired
	To   string `yaml:"to"`
}

// corrections reads them. Two that undo each other would let a part go back and forth for ever.
func (d Declared) corrections() ([]message.Correction, error) {
	var all []message.Correction
	for _, c := range d.Corrections {
		from, known := message.ParseDelivery(c.From)
		to, alsoKnown := message.ParseDelivery(c.To)
		switch {
		case !known || !alsoKnown || !from.Final() || !to.Final() || from == to:
			return nil, fmt.Errorf("corrections: write two of delivered, undelivered and expired, as from and to")
		case slices.Contains(all, message.Correction{From: to, To: from}):
			return nil, fmt.Errorf("corrections: %s to %s and the way back exclude each other", c.To, c.From)
		}
		all = append(all, message.Correction{From: from, To: to})
	}
	if len(all) > 0 && d.Confirmed == (Confirmed{}) {
		return nil, fmt.Errorf("corrections: a final report moves only where that is documented: say in confirmed by whom, when and in which source")
	}
	return all, nil
}

// profile is what is declared of the connection's receipts, for the store. It was checked with the configuration.
func (k Connection) profile() evidence.Profile {
	ids, _ := k.Receipts.IDs.read()
	corrections, _ := k.Receipts.corrections()
	return evidence.Profile{IDs: ids, EchoesReference: k.Lookup.ownReference(), Corrections: corrections}
}
