package torture_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/torture/check"
)

// load is clients with intents. It remembers what they were told.
type load struct {
	t      *testing.T
	client *http.Client

	mu        sync.Mutex
	rng       *rand.Rand
	endings   []string
	url, key  string // of the gateway in use
	wishes    []*wish
	acks      []check.Ack
	refused   []string
	cancelled []ident.Message
	untold    []*shot // without a definite answer
}

// wish is what a client wants, and how it goes about it.
type wish struct {
	check.Ask
	shots    []*shot
	cancel   bool // it changes its mind
	brief    bool // its message is of no use after two seconds: it may expire
	misuse   bool // it uses its key again, for something else
	misusing check.Ask
}

// shot is one request. It is repeated, with the same key, until it has an answer.
type shot struct {
	of  *wish
	key string
}

func newLoad(t *testing.T) *load {
	t.Helper()
	l := &load{t: t, rng: chance(t), endings: endings, client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 32}, Timeout: 20 * time.Second,
	}}
	t.Cleanup(l.client.CloseIdleConnections)
	return l
}

// target names the gateway that takes the requests from now on.
func (l *load) target(address, key string) {
	l.client.CloseIdleConnections()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.url, l.key = "http://"+address, key
}

// endings are what the message centre is asked for, with their weights.
var endings = []string{"00", "00", "00", "00", "01", "02", "03", "03", "04", "05", "09", "14"}

// next makes an intent. Its window stays open whatever becomes of its message: that of an order confirmation
// would end with a rejection or its validity, and that of a code with its message, so a code is sent under one key
// alone.
func (l *load) next() *wish {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, ending := len(l.wishes), l.endings[l.rng.IntN(len(l.endings))]
	i := &wish{cancel: l.rng.IntN(8) == 0, misuse: l.rng.IntN(8) == 0, brief: l.rng.IntN(8) == 0}
	event := fmt.Sprintf("E-%d", n)
	i.Ask = check.Ask{Event: event, Purpose: "order_confirmation", To: "+120255501" + ending, Text: "Torture " + event + " is confirmed."}
	if l.rng.IntN(longOnes) == 0 { // each part of it is full, and names the event
		i.Text = strings.Repeat(i.Text+" ", 40)[:(2+l.rng.IntN(3))*gsm.Capacity(gsm.CodingDefault, gsm.Reference8)]
	}
	sameKey := l.rng.IntN(3) > 0
	switch {
	case ending == "02" || i.brief:
		i.Purpose = "alert"
	case l.rng.IntN(6) == 0:
		i.Purpose, sameKey = "login_code", true
	}
	anyKey := l.rng.IntN(2) > 0
	for k := range 1 + l.rng.IntN(3) {
		s := &shot{of: i}
		switch {
		case sameKey:
			s.key = "key-" + event
		case anyKey:
			s.key = fmt.Sprintf("key-%s-%d", event, k)
		}
		i.shots = append(i.shots, s)
	}
	i.misuse = i.misuse && sameKey
	i.misusing = check.Ask{Event: event + "-other", Purpose: i.Purpose, To: i.To, Text: "Torture " + event + " is something else."}
	l.wishes = append(l.wishes, i)
	return i
}

// longOnes: one in so many texts has two to four parts.
const longOnes = 4

// clients is how many intents are worked on at the same time.
const clients = 6

// until sends intents until there are so many of them all in all, or done says that it is enough.
func (l *load) until(many int, done func() bool) { l.paced(many, 0, done) }

// paced is until with a rest of each client after each intent.
func (l *load) paced(many int, rest time.Duration, done func() bool) {
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for l.wished() < many && !done() {
				l.pursue(l.next())
				<-time.After(rest)
			}
		})
	}
	wg.Wait()
}

func (l *load) wished() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.wishes)
}

// pursue sends an intent's requests at the same moment.
func (l *load) pursue(i *wish) {
	var wg sync.WaitGroup
	for _, s := range i.shots {
		wg.Go(func() { l.shoot(s) })
	}
	wg.Wait()
}

// repeat sends again what has no answer.
func (l *load) repeat() {
	l.mu.Lock()
	again := l.untold
	l.untold = nil
	l.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range again {
		wg.Go(func() { l.shoot(s) })
	}
	wg.Wait()
}

// history is what the clients know at the end.
func (l *load) history() *check.History {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := &check.History{Acks: l.acks, Refused: l.refused, Cancelled: l.cancelled}
	for _, i := range l.wishes {
		h.Asks = append(h.Asks, &i.Ask)
	}
	if len(l.untold) > 0 {
		l.t.Errorf("%d requests have no answer", len(l.untold))
	}
	return h
}
