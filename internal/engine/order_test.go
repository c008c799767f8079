package engine_test

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/sqlite"
)

// stores open an empty store of each engine that there is.
var stores = map[string]func(t testing.TB) store.Store{"sqlite": openSQLite}

func openSQLite(t testing.TB) store.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), sqlite.Options{Path: filepath.Join(t.TempDir(), "einmal.db")})
	must(t, err)
	return s
}

// crowd is a gateway on which several tenants send. Its order is the order in which the message centre wrote down
// what it took.
type crowd struct {
	*gateway
	made int
	log  *bufio.Reader
	read []string // of the log
	rest string   // the beginning of a line that is not whole yet
}

// window is the in-flight limit of these tests.
const window = 100

// overtaken is how many more of a flood may leave before what comes while it waits: a window on the wire, and what was
// claimed ahead and is on its way through the stages.
const overtaken = 200

func newCrowd(t testing.TB, open func(testing.TB) store.Store) *crowd {
	set := settings{window: window, answer: 10 * time.Second, grace: time.Minute, every: time.Second}
	c := &crowd{gateway: openGatewayOn(t, set, open(t))}
	file, err := os.Open(c.ledger)
	must(t, err)
	t.Cleanup(func() { must(t, file.Close()) })
	c.log = bufio.NewReader(file)
	t.Cleanup(c.startNode(context.Background()))
	return c
}

// messages are new ones of a tenant. Their text is the lane's and the tenant's name.
func (c *crowd) messages(lane int, tenant ident.Partition, n int) []store.Submission {
	c.Helper()
	id, err := c.store.EnsureFlow(context.Background(), store.FlowSpec{Connection: c.conn, Lane: lane, Tenant: tenant, Sender: "SHOP", Purpose: "alert"})
	must(c, err)
	subs := make([]store.Submission, n)
	for i := range subs {
		c.made++
		s := c.submission(fmt.Sprintf("C-%d", c.made), number("14")) // taken, and no receipt
		s.Tenant, s.Decision, s.Message = tenant, ident.NewDecision(tenant), ident.NewMessage(tenant)
		s.Flow, s.Content = id, []byte(label(lane, tenant))
		s.Keys.Intent = identityKey(intent.KeyForm(s.Purpose, s.Request))
		subs[i] = s
	}
	return subs
}

func label(lane int, tenant ident.Partition) string {
	return fmt.Sprintf("lane %d tenant %d", lane, tenant)
}

// taken is what the message centre took so far, in order.
func (c *crowd) taken() []string {
	c.Helper()
	for {
		line, err := c.log.ReadString('\n')
		if c.rest += line; errors.Is(err, io.EOF) {
			return c.read
		}
		must(c, err)
		var entry struct {
			Text string `json:"short_message_hex"`
		}
		must(c, json.Unmarshal([]byte(c.rest), &entry))
		text, err := hex.DecodeString(entry.Text)
		must(c, err)
		c.read, c.rest = append(c.read, string(text)), ""
	}
}

// awaitTaken waits until the message centre has taken so many, and returns all.
func (c *crowd) awaitTaken(what string, enough func(taken []string) bool) (taken []string) {
	c.Helper()
	c.await(what, func() bool {
		taken = c.taken()
		return enough(taken)
	})
	return taken
}

// One tenant with 20,000 messages waiting and 99 others: each other one's message leaves before 200 more of the
// flood's, whose tenant has sent a thousand by then and goes on.
//
// covers: D19, I20
func TestAFloodLetsTheOthersPass(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			const flood, others = ident.Partition(1), 99
			c := newCrowd(t, open)
			for range 40 {
				c.send(c.messages(4, flood, 500)...)
			}
			c.awaitTaken("the flood to flow", func(taken []string) bool { return len(taken) > 1000 })
			var rest []store.Submission
			for tenant := flood + 1; tenant <= flood+others; tenant++ {
				rest = append(rest, c.messages(4, tenant, 1)...)
			}
			c.send(rest...)
			from := len(c.taken())
			taken := c.awaitTaken("the others", func(taken []string) bool { return len(taken)-count(taken, label(4, flood)) == others })
			checkOrder(t, taken[from:], label(4, flood), overtaken)
			if n := count(taken, label(4, flood)); n >= 20_000 {
				t.Errorf("the flood was over before the others: %d", n)
			}
		})
	}
}

// checkOrder fails if somebody else's message stands behind more of the flood's than may be.
func checkOrder(t *testing.T, taken []string, flood string, most int) {
	t.Helper()
	floods := 0
	for _, text := range taken {
		if text == flood {
			floods++
		} else if floods >= most {
			t.Errorf("%s left after %d more of the flood", text, floods)
		}
	}
}

func count(taken []string, text string) (n int) {
	for _, one := range taken {
		if one == text {
			n++
		}
	}
	return n
}

// A code that comes while a campaign waits and flows leaves before what of the campaign is not yet on its way.
//
// covers: D19, I20
func TestACodeOvertakesACampaign(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t, open)
			campaign, code := label(4, 1), label(flow.Urgent, 2)
			for range 20 {
				c.send(c.messages(4, 1, 500)...)
			}
			c.awaitTaken("the campaign to flow", func(taken []string) bool { return len(taken) > 500 })
			for i := range 20 {
				c.send(c.messages(flow.Urgent, 2, 1)...)
				from := len(c.taken())
				taken := c.awaitTaken("the code", func(taken []string) bool { return count(taken, code) == i+1 })
				checkOrder(t, taken[from:], campaign, overtaken)
			}
			if n := count(c.taken(), campaign); n >= 10_000 {
				t.Errorf("the campaign was over before the codes: %d", n)
			}
		})
	}
}

// BenchmarkCode is the way of a code, from its request to the message centre, while a campaign flows.
func BenchmarkCode(b *testing.B) {
	for name, open := range stores {
		b.Run(name, func(b *testing.B) {
			c := newCrowd(b, open)
			code := label(flow.Urgent, 2)
			for range 400 {
				c.send(c.messages(4, 1, 500)...)
			}
			c.awaitTaken("the campaign to flow", func(taken []string) bool { return len(taken) > 500 })
			var took []time.Duration
			for range b.N {
				sub, from, asked := c.messages(flow.Urgent, 2, 1), len(c.taken()), time.Now()
				c.send(sub...)
				for count(c.taken()[from:], code) == 0 {
					time.Sleep(time.Millisecond)
				}
				took = append(took, time.Since(asked))
				time.Sleep(20 * time.Millisecond)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), "p99-ms")
			if n := count(c.taken(), label(4, 1)); n >= 200_000 {
				b.Errorf("the campaign was over before the codes")
			}
		})
	}
}
