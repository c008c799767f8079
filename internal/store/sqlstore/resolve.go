package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Resolve implements store.Resolver. A person's word goes the way of all evidence, so that it meets what arrives at
// the same moment.
func (s *Store) Resolve(ctx context.Context, rs []store.Resolution, rules store.Rules) ([]store.Settled, error) {
	out := make([]store.Settled, len(rs))
	err := s.isolate(ctx, len(rs), func(t *tx, lo, hi int, _ bool) error {
		z, err := t.resolve(t.ctx, rs[lo:hi], rules)
		if err == nil {
			err = z.run(t.ctx)
		}
		if err == nil {
			copy(out[lo:hi], z.out)
		}
		return err
	}, func(i int, err error) { out[i] = store.Settled{Err: err} })
	if err == nil {
		chaos.At(chaos.ResolveCommitted)
	}
	return out, err
}

var (
	readNamed = define(`select ` + exceptionColumns + ` from {rows id bytes} cross join exception x where x.id = r.id`)
	readTold  = define(`select e.message_id, e.n, e.detail from {rows message_id bytes, n int} cross join event e where e.message_id = r.message_id and e.n = r.n`)
	allSpaces = define(`select id, id_space from connection`)
)

// named is what the exceptions of a batch are about: what never changes, read without a lock.
type named struct {
	exceptions map[ident.Exception]*exception.Exception
	receipts   map[ident.Receipt]*store.LoggedReceipt
	answers    map[eventKey]map[string]string // details of events
	spaces     map[int64]int64
}

type eventKey struct {
	message ident.Message
	n       uint32
}

// resolve prepares a transaction: each resolution becomes news about the attempt that is meant.
func (t *tx) resolve(ctx context.Context, rs []store.Resolution, rules store.Rules) (*settling, error) {
	about, err := t.readNamed(ctx, rs)
	if err != nil {
		return nil, err
	}
	news := make([]store.News, len(rs))
	faults := make([]error, len(rs))
	for i := range rs {
		news[i], faults[i] = about.news(&rs[i])
	}
	z := newSettling(t, rules, news)
	z.resolving, z.spaces = map[int]store.Resolution{}, about.spaces
	for i := range rs {
		z.out[i].Err = faults[i]
		if faults[i] == nil {
			z.resolving[i] = rs[i]
		}
	}
	return z, nil
}

func (t *tx) readNamed(ctx context.Context, rs []store.Resolution) (*named, error) {
	about := &named{
		exceptions: map[ident.Exception]*exception.Exception{}, receipts: map[ident.Receipt]*store.LoggedReceipt{},
		answers: map[eventKey]map[string]string{}, spaces: map[int64]int64{},
	}
	ids, receipts, events := &rows{}, &rows{}, &rows{}
	for _, r := range rs {
		ids.add(r.Exception)
	}
	err := t.query(ctx, readNamed, ids, func(res *sql.Rows) error {
		x, err := scanException(res)
		if about.exceptions[x.ID] == nil {
			receipts.add(x.Receipt)
			events.add(x.Message, x.Event)
		}
		about.exceptions[x.ID] = x
		return err
	})
	for _, step := range []struct {
		q    *template
		r    *rows
		scan func(*sql.Rows) error
	}{{readEarly, receipts, about.scanReceipt}, {readTold, events, about.scanAnswer}, {allSpaces, nil, about.scanSpace}} {
		if err == nil {
			err = t.query(ctx, step.q, step.r, step.scan)
		}
	}
	return about, err
}

func (a *named) scanReceipt(res *sql.Rows) error {
	r, err := scanReceipt(res)
	if err == nil {
		a.receipts[r.ID] = r
	}
	return err
}

func (a *named) scanAnswer(res *sql.Rows) error {
	var (
		id     []byte
		k      eventKey
		detail string
	)
	if err := res.Scan(&id, &k.n, &detail); err != nil {
		return err
	}
	if detail == "" {
		return nil // the event brought no answer: receipts are missing, say
	}
	k.message = ident.Message(keyFrom(id))
	var words map[string]string
	err := json.Unmarshal([]byte(detail), &words)
	a.answers[k] = words
	return err
}

func (a *named) scanSpace(res *sql.Rows) error {
	var id, space int64
	err := res.Scan(&id, &space)
	a.spaces[id] = space
	return err
}

// news is a resolution as evidence. What cannot be meant is refused before anything is locked.
func (a *named) news(r *store.Resolution) (store.News, error) {
	n := store.News{Reference: -1}
	n.Kind, n.Action, n.Person, n.Reason, n.State, n.Exception = evidence.Resolved, r.Action, r.Person, r.Reason, r.State, r.Exception
	x := a.exceptions[r.Exception]
	if x == nil || x.Tenant != r.Tenant {
		return n, notFound("exception")
	}
	to, err := target(x, r)
	if x.State != exception.Open {
		err = nil // who is late is told so, whatever is asked
	}
	n.Message, n.Attempt, n.Part = to.Message, to.Attempt, to.Part
	n.Connection, n.IDSpace = x.Connection, a.spaces[x.Connection]
	if logged := a.receipts[x.Receipt]; logged != nil {
		n.Receipt, n.IDSpace, n.Connection = store.NewsOf(logged).Receipt, logged.IDSpace, logged.Connection
	} else if words := a.answers[eventKey{x.Message, x.Event}]; words != nil {
		n.Outcome, _ = message.ParseOutcome(words["outcome"])
		n.ExternalID, n.Code, n.CodeName = []byte(words["external_id"]), words["code"], words["name"]
	}
	return n, err
}

// foldResolution applies a person's word.
func (z *settling) foldResolution(i int) {
	r, n := z.resolving[i], &z.news[i]
	x := z.held[r.Exception]
	switch {
	case x == nil:
		z.out[i].Err = notFound("exception")
		return
	case x.State != exception.Open:
		z.out[i].Known, z.out[i].Err = resolvedBefore(x, &r)
		return
	}
	if n.Message.IsZero() {
		z.close(x, exception.Actions[r.Action], exception.Resolution{By: r.Person, Reason: r.Reason})
		return
	}
	if z.out[i].Err = z.word(n, x, &r); z.out[i].Err != nil {
		return
	}
	c := z.cases[n.Message]
	z.out[i].Message, z.out[i].Case = n.Message, &c.Case
	how := exception.Resolution{By: r.Person, Reason: r.Reason}
	if r.Action == exception.Attach {
		how.To, how.State = exception.Part{Message: n.Message, Attempt: n.Attempt, Part: n.Part}, r.State
		z.attached(n, c)
	}
	z.close(x, exception.Actions[r.Action], how)
}

// word gives the person's word to the message that is meant.
func (z *settling) word(n *store.News, x *exception.Exception, r *store.Resolution) error {
	c := z.cases[n.Message]
	if c == nil || !c.locked || c.Tenant != r.Tenant && !(r.Anywhere && x.Message.IsZero()) {
		return notFound("message")
	}
	if z.spaces[c.Connection] != n.IDSpace {
		return fault.New(fault.State, "the message went over another connection than the evidence came from")
	}
	if n.Attempt == 0 && r.Action == exception.Attach {
		n.Attempt = c.LastAttempt()
	}
	if n.Part == 0 && r.Action == exception.Attach {
		if c.Parts > 1 {
			return fault.New(fault.Invalid, "the message has %d parts: name the one that is meant", c.Parts)
		}
		n.Part = 1
	}
	if r.Action == exception.Attach && !z.mayBelong(n, x, c) {
		return fault.New(fault.State, "the receipt is of another number than the message went to, and its message id names another attempt or none: "+
			"attach it to a message to its own number, or dismiss it")
	}
	if err := c.Apply(n.Evidence, z.now); err != nil {
		return evidenceFault(err, c.State)
	}
	return nil
}

// mayBelong reports whether nothing speaks against giving evidence to the message that a person names.
func (z *settling) mayBelong(n *store.News, x *exception.Exception, c *caseRow) bool {
	if _, known := x.Own(); known || n.Receipt == nil {
		return true
	}
	to := evidence.Candidate{Message: n.Message, Attempt: n.Attempt, Part: n.Part, Destination: c.Destination}
	return evidence.MayBelong(n.Receipt, to, z.candidatesByID(z.identified(n)))
}

// attached registers the attempt under the evidence's message id, so that what comes under it later finds it.
func (z *settling) attached(n *store.News, c *caseRow) {
	z.identified(n).each(func(r *record) {
		r.addCandidate(partKey{n.Message, n.Attempt, n.Part})
		if n.Receipt != nil {
			r.removeWaiting(n.Receipt.ID)
		}
	})
	if n.Receipt == nil {
		return
	}
	z.applied[n.Receipt.ID] = true
	if c.Secret {
		z.redact = append(z.redact, n.Receipt.ID)
	}
}
