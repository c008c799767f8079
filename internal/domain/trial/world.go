package trial

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/domain/request"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// world is a store as small as it can be: who holds which key, and the messages behind them.
type world struct {
	policy   *policy.Policy
	now      clock.Micros
	register map[intent.Key]held
	repeats  map[intent.Key]*intent.Repeats
	messages []*sent
	sent     []ident.Message // by request; zero: it made none
}

type held struct {
	owner ident.Message
	ends  clock.Micros
}

// sent is a message with what its keys are.
type sent struct {
	*intent.Request
	evidence.Case
}

func newWorld(p *policy.Policy) *world {
	return &world{policy: p, now: began, register: map[intent.Key]held{}, repeats: map[intent.Key]*intent.Repeats{}}
}

// What a test leaves open.
const (
	defaultTo     = "+12025550100" // of a range that is kept for fiction
	defaultSender = "Einmal"
	defaultText   = "text"
	tenant        = ident.Partition(1)
)

// gateway is as one is that nobody has set up otherwise.
var gateway = request.Gateway{Senders: request.Senders{Default: defaultSender}, Limits: func(*request.Checked) request.Limits {
	return request.Limits{MostParts: request.DefaultMostParts, Bits: gsm.Reference8}
}}

// key is a keyed hash without a key: nothing here is secret, and every run is the same.
func key(form []byte) intent.Key {
	sum := sha256.Sum256(form)
	return intent.Key(sum[:16])
}

// id makes the n-th id of its kind.
func id(n int) (id [16]byte) {
	binary.BigEndian.PutUint64(id[8:], uint64(n+1))
	return id
}

// send maps, checks and decides a request.
func (w *world) send(s *policy.Send) answer {
	r, wrong := w.request(s)
	if len(wrong) > 0 {
		w.sent = append(w.sent, ident.Message{})
		return answer{invalid: wrong}
	}
	f := w.facts(r)
	res := intent.Decide(r, f)
	w.repeats = f.Repeats
	d := res.Decision
	made := ident.Message{}
	if res.Kind == intent.Decided && d.Action == intent.Allow {
		made = r.Message
		w.messages = append(w.messages, w.taken(r))
	}
	for _, k := range res.Reserve {
		w.register[k.Key] = held{k.Owner, k.Ends}
	}
	if !s.AnswerLost {
		delete(w.register, r.Keys.Unanswered)
	}
	w.sent = append(w.sent, made)
	return answer{Decision: d, unnamed: r.Purpose.Unnamed}
}

// facts is what a store would read for the request.
func (w *world) facts(r *intent.Request) *intent.Facts {
	f := &intent.Facts{Now: w.now, Holders: map[intent.Key]*intent.Holder{}, Repeats: w.repeats}
	for _, k := range []intent.Key{r.Keys.Intent, r.Keys.Variant, r.Keys.Unanswered} {
		if h, there := w.register[k]; there {
			f.Holders[k] = &intent.Holder{Message: w.message(h.owner).facts(), Ends: h.ends}
		}
	}
	return f
}

func (w *world) message(id ident.Message) *sent {
	i := slices.IndexFunc(w.messages, func(m *sent) bool { return m.Case.Message == id })
	return w.messages[i]
}

func (m *sent) facts() intent.MessageFacts {
	return intent.MessageFacts{
		ID: m.Case.Message, State: m.State, Since: m.Since, Final: m.Final, AttemptOpen: m.AttemptOpen(),
		Attempts: int(m.LastAttempt()), TextKey: m.TextKey, EventBound: m.EventBound,
	}
}

// taken is a message as it is made.
func (w *world) taken(r *intent.Request) *sent {
	valid := w.now.Add(r.ValidFor)
	return &sent{r, evidence.Case{
		Message: r.Message, Tenant: tenant, Parts: 1, CreatedAt: w.now, ValidUntil: valid, ReceiptUntil: valid.Add(evidence.ReceiptTime),
		EventBound: r.Purpose.Window.EventBound(), While: r.Purpose.Window.While, Flow: int64(evidence.FirstFlow),
		State: message.Pending, Since: w.now, LastN: 1,
	}}
}
