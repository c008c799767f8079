package torture_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

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
	used      map[string]int  // how many destinations of an ending are in use
	nameless  bool            // half of the intents name nothing
	long      bool            // half of the texts have several parts
	url, key  string          // of the gateway in use
	gates     map[string]gate // by folder, of several that are in use at the same time; nil: it is one at a time
	wishes    []*wish
	acks      []check.Ack
	refused   []*check.Ask
	cancelled []ident.Message
	untold    []*shot // without a definite answer
}

// wish is what a client wants, and how it goes about it.
type wish struct {
	check.Ask
	shots    []*shot
	cancel   bool // it changes its mind
	brief    bool // its message is of no use after two seconds: it may expire
	again    bool // it names no intent, and is meant a second time
	together bool // its requests come as one batch
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
	l := &load{t: t, rng: chance(t), endings: endings, used: map[string]int{}, client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 32}, Timeout: 20 * time.Second,
	}}
	t.Cleanup(l.client.CloseIdleConnections)
	return l
}

// gate is where requests go, and with which key.
type gate struct{ url, key string }

// target names a gateway, in its folder, that takes requests from now on: instead of the one before it, or beside others.
func (l *load) target(folder, address, key string) {
	l.client.CloseIdleConnections()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.url, l.key = "http://"+address, key
	if l.gates != nil {
		l.gates[folder] = gate{l.url, l.key}
	}
}

// gate is where the next request goes: to each of several in use as chance has it.
func (l *load) gate() (url, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	skip := 0
	if len(l.gates) > 0 {
		skip = l.rng.IntN(len(l.gates))
	}
	for _, folder := range slices.Sorted(maps.Keys(l.gates)) {
		if g := l.gates[folder]; skip == 0 {
			return g.url, g.key
		}
		skip--
	}
	return l.url, l.key
}

// endings are what the message centre is asked for, with their weights: all that it has.
var endings = []string{
	"00", "00", "00", "00", "00", "00", "00", "00", "01", "01", "02", "02", "03", "03", "04", "04", "05", "06", "07", "08", "09", "09",
	"10", "11", "12", "13", "14", "14",
}

// areas are North American area codes. With an ending each makes a number of the range that is kept for fiction.
var areas = []string{
	"202", "212", "213", "303", "305", "312", "313", "404", "408", "410", "412", "414", "415", "503", "504", "512", "513", "602", "603",
	"612", "614", "615", "617", "619", "702", "703", "704", "713", "716", "718", "801", "802", "803", "804", "808", "813", "815", "816",
	"817", "818", "901", "903", "904", "907", "914", "916", "917", "918", "919", "954",
	"205", "206", "207", "208", "209", "210", "214", "215", "216", "217", "218", "219", "224", "225", "228", "229", "231", "234",
	"239", "240", "248", "251", "252", "253", "254", "256", "260", "262", "267", "269", "270", "276", "281", "301", "302", "304",
	"307", "308", "309", "310", "314", "315", "316", "317", "318", "319", "320", "321", "323", "325",
}

// destination is a number of an ending, one that is not in use as long as there are such.
func (l *load) destination(ending string) string {
	n := l.used[ending]
	l.used[ending]++
	return "+1" + areas[n%len(areas)] + "55501" + ending
}

// next makes an intent. Its window stays open whatever becomes of its message: that of an order confirmation
// would end with a rejection or its validity, and that of a code with its message, so a code is sent under one key
// alone.
func (l *load) next() *wish {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, ending := len(l.wishes), l.endings[l.rng.IntN(len(l.endings))]
	event := fmt.Sprintf("E-%d", n)
	w := &wish{cancel: l.rng.IntN(8) == 0, misuse: l.rng.IntN(8) == 0, brief: l.rng.IntN(8) == 0, together: l.rng.IntN(8) == 0}
	w.Ask = check.Ask{Event: event, Purpose: "order_confirmation", To: l.destination(ending)}
	parts := 1
	if l.rng.IntN(4) == 0 || l.long && l.rng.IntN(3) == 0 {
		parts = 2 + l.rng.IntN(3)
	}
	w.Text = textOf(l.rng, event, parts, l.rng.IntN(3) == 0)
	sameKey := l.rng.IntN(3) > 0
	switch kind := l.rng.IntN(6); {
	case ending == "02" || w.brief:
		w.Purpose = "alert"
	case kind == 0:
		w.Purpose, sameKey = "login_code", true
	case kind == 1:
		w.Purpose = "sale"
	case kind == 2, l.nameless && kind > 2:
		w.Purpose, w.again = "", l.rng.IntN(2) == 0
	}
	l.aim(w, sameKey)
	l.wishes = append(l.wishes, w)
	return w
}

// aim makes an intent's requests. One that names nothing is one request: two at the same moment are a repeat or are
// meant, as it happens.
func (l *load) aim(w *wish, sameKey bool) {
	many, anyKey := 1+l.rng.IntN(3), l.rng.IntN(2) > 0
	if w.Unnamed() {
		many, sameKey, anyKey = 1, false, false
	}
	for k := range many {
		s := &shot{of: w}
		switch {
		case sameKey:
			s.key = "key-" + w.Event
		case anyKey:
			s.key = fmt.Sprintf("key-%s-%d", w.Event, k)
		}
		w.shots = append(w.shots, s)
	}
	w.misuse = w.misuse && sameKey
	w.misusing = check.Ask{Event: w.Event + "-other", Purpose: w.Purpose, To: w.To, Text: check.Mark(w.Event+"-other") + " is something else."}
}

// storm makes an intent that is asked for far more often than repeats are recorded one by one.
func (l *load) storm() *wish {
	l.mu.Lock()
	defer l.mu.Unlock()
	event := fmt.Sprintf("E-%d", len(l.wishes))
	w := &wish{Ask: check.Ask{Event: event, Purpose: "alert", To: l.destination("00"), Text: textOf(l.rng, event, 1, false)}}
	for range stormy {
		w.shots = append(w.shots, &shot{of: w})
	}
	l.wishes = append(l.wishes, w)
	return w
}

// stormy is more than intent.RunAbove and the first request.
const stormy = 120

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

// pursue sends an intent's requests at the same moment. One that is meant again has its answer first.
func (l *load) pursue(w *wish) {
	if w.together {
		l.shootTogether(w.shots)
	} else {
		l.shootAll(w.shots)
	}
	if w.again && l.mean(w) {
		l.shoot(&shot{of: w})
	}
}

func (l *load) shootAll(shots []*shot) {
	var wg sync.WaitGroup
	for _, s := range shots {
		wg.Go(func() { l.shoot(s) })
	}
	wg.Wait()
}

// mean notes that a client that has its answer asks for the same again, and means it.
func (l *load) mean(w *wish) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.untold {
		if s.of == w {
			return false
		}
	}
	w.Meant++
	return true
}

// repeat sends again what has no answer.
func (l *load) repeat() {
	l.mu.Lock()
	again := l.untold
	l.untold = nil
	l.mu.Unlock()
	l.shootAll(again)
}

// remind sends again what has its answer, under no key, as a client does that has forgotten it: some of the intents
// whose windows are open. Each is answered with the message that exists, whatever policy is in force by now.
func (l *load) remind(many int) {
	l.mu.Lock()
	var shots []*shot
	for range min(many, len(l.wishes)) {
		if w := l.wishes[l.rng.IntN(len(l.wishes))]; w.Purpose != "login_code" && !w.Unnamed() {
			shots = append(shots, &shot{of: w})
		}
	}
	l.mu.Unlock()
	l.shootAll(shots)
}

// only reports whether an intent's destination is nobody else's.
func (l *load) only(event string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	to := map[string]int{}
	found := ""
	for _, w := range l.wishes {
		if to[w.To]++; w.Event == event {
			found = w.To
		}
	}
	return to[found] == 1
}

// history is what the clients know at the end.
func (l *load) history() *check.History {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := &check.History{Acks: l.acks, Refused: l.refused, Cancelled: l.cancelled}
	for _, w := range l.wishes {
		h.Asks = append(h.Asks, &w.Ask)
	}
	if len(l.untold) > 0 {
		l.t.Errorf("%d requests have no answer", len(l.untold))
	}
	return h
}
