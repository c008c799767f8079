package app

import (
	"errors"
	"fmt"
	"time"

	"github.com/einmal/einmal/internal/engine/history"
)

// History says how long what is over is kept.
type History struct {
	Keep Duration `yaml:"keep,omitempty" doc:"how long messages, decisions, receipts and exceptions are kept that are over; none: for ever"`
	// By it a message is found by its idempotency key, and an answer says that an older one was known.
	Keys Duration `yaml:"keys" doc:"how long a key of the register is kept once its window is over"`
}

// shortestHistory is longer than the windows, validities and times for receipts that people have.
const shortestHistory = Duration(7 * 24 * time.Hour)

func (h History) check(feed Duration) error {
	if h.Keep != 0 && h.Keep < max(shortestHistory, feed) {
		return fmt.Errorf("keep: at least 7d, and no shorter than feed.keep (%s); leave feed.keep out to have it follow, or this to keep everything", inDays(feed))
	}
	if h.Keys < Duration(24*time.Hour) {
		return errors.New("keys: at least 24h, since as long as that a client may come again")
	}
	return nil
}

// inDays writes a time as people write it here.
func inDays(d Duration) string {
	const day = Duration(24 * time.Hour)
	if d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return time.Duration(d).String()
}

func (a *App) newHistory() *history.Worker {
	return history.New(history.Config{
		Store: a.store, Rules: a.rules, Keep: time.Duration(a.cfg.History.Keep), Keys: time.Duration(a.cfg.History.Keys),
		Log: a.log, Metrics: history.NewMetrics(a.metrics),
	})
}
