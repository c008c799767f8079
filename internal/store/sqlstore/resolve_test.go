package sqlstore

import (
	"slices"
	"testing"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// A receipt that a person attaches waits for its message id no longer: its place on the record is free for another one,
// and no answer under that id has it read again. The suite cannot see that, since what was resolved is passed over too.
//
// covers: R6, R10
func TestWhatIsAttachedWaitsNoLonger(t *testing.T) {
	message, mine, another := ident.NewMessage(1), ident.NewReceipt(1), ident.NewReceipt(1)
	r := &record{waiting: []ident.Receipt{another, mine}}
	z := newSettling(nil, store.Rules{}, nil)
	z.records[externalKey(5, []byte("A1"))] = r
	n := &store.News{IDSpace: 5, Reference: -1}
	n.Kind, n.Action, n.Message, n.Attempt, n.Part = evidence.Resolved, exception.Attach, message, 1, 2
	n.Receipt = &evidence.ReceiptFacts{ID: mine, ExternalID: []byte("A1"), Reference: -1}
	z.attached(n, &caseRow{})
	if !r.changed || !slices.Equal(r.waiting, []ident.Receipt{another}) || !slices.Equal(r.candidates, []partKey{{message, 1, 2}}) || !z.applied[mine] {
		t.Errorf("the record is %+v, applied %v", r, z.applied)
	}
}
