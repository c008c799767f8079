//go:build services

package torture_test

import (
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/ground/clock"
)

// The connections to the store are cut under load, again and again, in the middle of whatever they carry: commits too,
// of which nobody knows then whether they happened. The gateway goes on by itself.
//
// covers: D8, D9, I1, I2, I3, I4, I5, I6, I7, I8, I9, I11, I13, I16
func TestStoreConnectionsAreCut(t *testing.T) {
	t.Parallel()
	for range times(10) {
		t.Run("postgres", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "postgres")
			w.vary()
			line, rng := newLine(w), rand.New(rand.NewPCG(seed, w.load.rng.Uint64()))
			p := w.start("node", "")
			over := time.Now().Add(cutFor)
			w.operator.beside(func() {
				go line.cutUntil(over, rng)
				w.load.paced(most, rest, func() bool { return time.Now().After(over) })
			}, rest, allActs...)
			if n := line.cuts(); n < cutsAsked {
				t.Errorf("the connections were cut %d times: the test proves nothing", n)
			}
			w.over = clock.FromTime(time.Now())
			w.operator.leave()
			w.load.repeat()
			w.load.remind(10)
			w.settle()
			w.stop(p)
			w.check()
		})
	}
}

const (
	cutFor    = 6 * time.Second        // how long connections are cut
	cutLeast  = 20 * time.Millisecond  // between one cut and the next
	cutMost   = 300 * time.Millisecond // the same: long enough for some work to be done
	cutsAsked = 20                     // fewer prove nothing
)

// line is the way to a server. It can be cut.
type line struct {
	listener net.Listener
	to       string

	mu    sync.Mutex // guards what follows, and to
	ends  map[net.Conn]struct{}
	count int
}

// newLine puts a line before the world's store.
func newLine(w *world) *line {
	w.Helper()
	u, err := url.Parse(w.engine.url)
	must(w, err)
	l := &line{to: u.Host, ends: map[net.Conn]struct{}{}}
	l.listener, err = net.Listen("tcp", "127.0.0.1:0")
	must(w, err)
	w.Cleanup(func() {
		_ = l.listener.Close()
		l.cut()
	})
	u.Host = l.listener.Addr().String()
	w.engine.url = u.String()
	go l.accept()
	return l
}

// lead has the line end at another server. What goes to the former one is cut.
func (l *line) lead(to string) {
	l.mu.Lock()
	l.to = to
	l.mu.Unlock()
	l.cut()
}

func (l *line) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		to := l.to
		l.mu.Unlock()
		server, err := net.Dial("tcp", to)
		if err != nil {
			_ = client.Close()
			continue
		}
		l.join(client, server)
	}
}

// join carries what either end says to the other, until one of them ends.
func (l *line) join(a, b net.Conn) {
	l.mu.Lock()
	l.ends[a], l.ends[b] = struct{}{}, struct{}{}
	l.mu.Unlock()
	carry := func(from, to net.Conn) {
		_, _ = io.Copy(to, from) // however it ends, both end
		l.mu.Lock()
		delete(l.ends, from)
		l.mu.Unlock()
		_, _ = from.Close(), to.Close()
	}
	go carry(a, b)
	go carry(b, a)
}

// cutUntil cuts the line again and again.
func (l *line) cutUntil(over time.Time, rng *rand.Rand) {
	for time.Now().Before(over) {
		<-time.After(cutLeast + time.Duration(rng.Int64N(int64(cutMost-cutLeast))))
		l.cut()
	}
}

// cut ends every connection.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ends) > 0 {
		l.count++
	}
	for c := range l.ends {
		_ = c.Close()
	}
}

func (l *line) cuts() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}
