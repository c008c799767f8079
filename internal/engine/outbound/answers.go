package outbound

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

const (
	// answersRest is how long answers that got out are gathered before they are written down. Only another node can
	// miss one meanwhile: a request to this node for the same thing has them written first.
	answersRest = 100 * time.Millisecond
	// mostAnswers bounds what is gathered. An answer beyond it counts as one that never got out, which holds back a
	// repeat for two minutes at most.
	mostAnswers = 1 << 16
)

// answers are those that got out to callers of requests without a purpose, until the store knows (D18). The store
// takes every such answer for lost until it hears otherwise, so that a node that dies leaves the safe belief.
type answers struct {
	store interface {
		AnswersSent(ctx context.Context, sent []store.AnswerSent) error
	}
	log *slog.Logger

	mu     sync.Mutex
	known  map[intent.Key]ident.Message // got out, and not written down yet; those being written included
	timer  *time.Timer                  // runs while something is known
	closed bool

	writing sync.Mutex // held while the store is told
}

// sent notes that an answer got out.
func (a *answers) sent(key intent.Key, m ident.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || len(a.known) >= mostAnswers {
		return
	}
	if a.known == nil {
		a.known = map[intent.Key]ident.Message{}
	}
	if len(a.known) == 0 {
		a.timer = time.AfterFunc(answersRest, a.write)
	}
	a.known[key] = m
}

// before has what is known about the batch's keys written down, so that the decisions see it.
func (a *answers) before(batch []store.Submission) {
	a.mu.Lock()
	wanted := false
	for _, s := range batch {
		if _, there := a.known[s.Keys.Unanswered]; there {
			wanted = true
			break
		}
	}
	a.mu.Unlock()
	if wanted {
		a.write()
	}
}

// write tells the store. If that fails, nothing more is known of these answers: their repeats are held back for as
// long as an answer counts as lost.
func (a *answers) write() {
	a.writing.Lock()
	defer a.writing.Unlock()
	a.mu.Lock()
	list := make([]store.AnswerSent, 0, len(a.known))
	for k, m := range a.known {
		list = append(list, store.AnswerSent{Key: k, Message: m})
	}
	a.mu.Unlock()
	if len(list) == 0 {
		return
	}
	if err := a.store.AnswersSent(context.Background(), list); err != nil {
		a.log.Warn("the store could not be told which answers got out; repeats of their requests are held back for two minutes", "count", len(list), "error", err)
	}
	a.forget(list)
}

// forget drops what was written down, unless a later answer has taken its place.
func (a *answers) forget(list []store.AnswerSent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range list {
		if a.known[s.Key] == s.Message {
			delete(a.known, s.Key)
		}
	}
	if len(a.known) > 0 && !a.closed {
		a.timer = time.AfterFunc(answersRest, a.write)
	}
}

// close writes down what is left.
func (a *answers) close() {
	a.mu.Lock()
	a.closed = true
	if a.timer != nil {
		a.timer.Stop()
	}
	a.mu.Unlock()
	a.write()
}

// Awaited reports whether somebody has to say that this answer got out, by AnswerSent.
func (a *Answer) Awaited() bool { return !a.Unanswered.IsZero() }

// AnswerSent says that an answer got out to its caller, whole and in time.
func (s *Service) AnswerSent(a *Answer) {
	if a.Awaited() {
		s.answers.sent(a.Unanswered, a.Decision.Message.ID)
	}
}
