package storetest

import (
	"context"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// mostRaceTries bounds how often somebody comes again whom a busy server made wait for too long.
const mostRaceTries = 5

// decideBusy decides on a server that may be busy: what it could not do it is asked again, the same batch with the
// same ids.
func (w *world) decideBusy(subs []store.Submission) (out []store.Decided, err error) {
	for range mostRaceTries {
		out, err = w.Decide(context.Background(), subs, intent.Decide)
		if err == nil || fault.CodeOf(err) != fault.Unavailable {
			break
		}
	}
	return out, err
}
