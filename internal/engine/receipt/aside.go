package receipt

import (
	"context"
	"time"

	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Receipts that fail let those behind them go first, each time for twice as long. One that met a lock is tried again
// soon and for ever: the lock goes. One that meets a defect will meet it again, until somebody mends it; when it was
// tried often enough a person is told.
const (
	lockPause, maxLockPause     = time.Second, time.Minute
	defectPause, maxDefectPause = time.Minute, time.Hour
	maxTries                    = 8 // two hours
)

// couldNotBeApplied is the exception's detail. The error itself may quote what is nobody's to read.
const couldNotBeApplied = "the receipt could not be applied, however often it was tried: the gateway's log has the error"

// putAside puts off what failed, or gives it up. It returns how many are out of the way. Should the store fail here as
// well, the list stays as it was.
func (w *Worker) putAside(ctx context.Context, batch []store.DueReceipt, failed map[ident.Receipt]error) int {
	var off []store.Postponed
	var up []*store.LoggedReceipt
	for i := range batch {
		r := &batch[i]
		switch err := failed[r.ID]; {
		case err == nil:
		case fault.CodeOf(err) != fault.Internal:
			off = append(off, store.Postponed{ID: r.ID, For: pause(lockPause, maxLockPause, r.Tries)})
		case r.Tries+1 < maxTries:
			off = append(off, store.Postponed{ID: r.ID, For: pause(defectPause, maxDefectPause, r.Tries)})
		default:
			up = append(up, &r.LoggedReceipt)
		}
	}
	return w.postpone(ctx, off) + w.giveUp(ctx, up)
}

// pause is doubled with each try, up to a limit.
func pause(first, most time.Duration, tries int) time.Duration {
	return min(first<<min(tries, 10), most)
}

func (w *Worker) postpone(ctx context.Context, off []store.Postponed) int {
	if len(off) == 0 {
		return 0
	}
	if err := w.cfg.Store.PostponeReceipts(ctx, off); err != nil {
		w.logError(ctx, "receipts could not be put off", err, "count", len(off))
		return 0
	}
	return len(off)
}

func (w *Worker) giveUp(ctx context.Context, up []*store.LoggedReceipt) int {
	if len(up) == 0 {
		return 0
	}
	if err := w.cfg.Store.GiveUpReceipts(ctx, up, couldNotBeApplied); err != nil {
		w.logError(ctx, "receipts could not be given up", err, "count", len(up))
		return 0
	}
	w.cfg.Log.Error("receipts could not be applied, however often it was tried; a person is told", "count", len(up))
	return len(up)
}
