package storetest

import (
	"context"
	"testing"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/store"
)

// Those who run the installation see what is open of every tenant, page by page, the newest first, and nothing that is
// resolved: as many as the backlog counts.
func testExceptionsOfAllTenants(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	_, first := w.conflict("mine", 60)
	w.over("nobody", "delivered", 61)
	p := w.prepaid("another", 1000)
	o, theirs := p.wronged("theirs")
	_, done := w.conflict("done", 62)
	w.resolve(done, exception.Dismiss, exception.Part{})
	page, got := store.Page{Limit: 2}, []*store.ExceptionView{}
	for {
		all, err := w.Exceptions(ctx, store.Installation, store.ExceptionFilter{AllTenants: true}, page)
		must(t, err)
		if got = append(got, all...); len(all) < page.Limit {
			break
		}
		last := all[len(all)-1]
		page.At, page.ID = last.At, last.ID
	}
	if len(got) != 3 || got[0].ID != theirs.ID || got[0].Tenant != p.id || got[1].Kind != exception.Unmatched || got[2].ID != first.ID {
		t.Errorf("listed are %+v", got)
	}
	var last clock.Micros = 1 << 62
	for _, x := range got {
		if x.State != exception.Open || x.At > last {
			t.Errorf("among them is %+v", x)
		}
		last = x.At
	}
	b, err := w.Backlog(ctx, w.conn, 100)
	must(t, err)
	if b.Exceptions != len(got) {
		t.Errorf("%d are counted, %d listed", b.Exceptions, len(got))
	}
	about, err := w.Exceptions(ctx, store.Installation, store.ExceptionFilter{AllTenants: true, About: o.Message}, store.Page{Limit: 10})
	must(t, err)
	if len(about) != 1 || about[0].ID != theirs.ID || p.state(o.Message, message.Rejected).ID != o.Message {
		t.Errorf("about the message are %+v", about)
	}
}
