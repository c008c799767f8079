package api

import (
	"context"
	"slices"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/store"
)

// OneMessageView is a message asked for by its id. What its receipts did beside moving it is read from its
// history, and its destination as asked for is sealed with its text, so lists do not have them.
type OneMessageView struct {
	MessageView
	ToReceived   string   `json:"to_received,omitempty" doc:"The destination as it was asked for, masked as to is. It is not there any more once the text is destroyed, as that of a code is."`
	ReceiptMarks []string `json:"receipt_marks" nullable:"false" doc:"What receipts did beside moving the state (R10): repeated, late, conflicting. Empty: nothing of it. Accept unknown values."`
	Outlook      string   `json:"outlook" doc:"What is known of it now, what is still owed and what happens next, in plain words."`
}

func (a *API) oneMessage(ctx context.Context, m known) (OneMessageView, error) {
	names, err := a.cfg.Store.ConnectionNames(ctx)
	if err != nil {
		return OneMessageView{}, err
	}
	metadata, err := a.cfg.Contents.Metadata(ctx, m.Message)
	if err != nil {
		return OneMessageView{}, err
	}
	raw, err := a.cfg.Contents.ToRaw(ctx, m.Message)
	if err != nil {
		return OneMessageView{}, err
	}
	marks, err := a.receiptMarks(ctx, m.Message)
	if err != nil {
		return OneMessageView{}, err
	}
	words, stopped, err := a.prospect(ctx, m)
	v := OneMessageView{a.messageView(m.Message, names, metadata, ""), maskedWritten(m.Destination, raw), marks, words}
	v.Stopped = stopped
	return v, err
}

// marks are the effects of receipts that move nothing, in the order in which they are shown.
var marks = []evidence.EventKind{evidence.EventRepeated, evidence.EventOvertaken, evidence.EventConflict}

// receiptMarks reads the message's history. That is one question, unless a provider repeats itself by the
// thousand: then it goes on, since a contradiction behind the repeats must be shown.
func (a *API) receiptMarks(ctx context.Context, m *store.Message) ([]string, error) {
	found := map[evidence.EventKind]bool{}
	for after := uint32(0); len(found) < len(marks); {
		events, err := a.cfg.Store.Events(ctx, m.Tenant, m.ID, after, maxHistory)
		if err != nil {
			return nil, err
		}
		for i := range events {
			if e := &events[i]; !e.Receipt.IsZero() && slices.Contains(marks, e.Kind) {
				found[e.Kind] = true
			}
		}
		if len(events) < maxHistory {
			break
		}
		after = events[len(events)-1].N
	}
	words := []string{}
	for _, kind := range marks {
		if found[kind] {
			words = append(words, effects[kind])
		}
	}
	return words, nil
}
