//go:build services

package postgres_test

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// cutter is a proxy before the server. Once armed it ends the connection of the next COMMIT: after the server has
// committed, when the answer was read and is not passed on, or before the server has heard of it. The client
// cannot tell one from the other.
type cutter struct {
	t      *testing.T
	ln     net.Listener
	server string
	armed  atomic.Int32 // how the next COMMIT is cut; 0: not at all
	cuts   atomic.Int64
	hold   sync.RWMutex // locked: new connections wait
	frozen sync.RWMutex // locked: nothing is passed on, in either direction
	wg     sync.WaitGroup
}

func newCutter(t *testing.T, server string) *cutter {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{t: t, ln: ln, server: server}
	c.wg.Go(c.accept)
	t.Cleanup(func() {
		_ = ln.Close()
		c.wg.Wait()
	})
	return c
}

func (c *cutter) addr() string { return c.ln.Addr().String() }

const (
	cutAfter  = 1
	cutBefore = 2
)

func (c *cutter) arm(committed bool) {
	if committed {
		c.armed.Store(cutAfter)
	} else {
		c.armed.Store(cutBefore)
	}
}

// freeze stops the line as a partition of the network does: both sides hear nothing.
func (c *cutter) freeze() (thaw func()) {
	c.frozen.Lock()
	return c.frozen.Unlock
}

// wait returns when the line works.
func (c *cutter) wait(lock *sync.RWMutex) {
	lock.RLock()
	defer lock.RUnlock()
}

// holdNew keeps new connections waiting until the returned function is called.
func (c *cutter) holdNew() (release func()) {
	c.hold.Lock()
	return c.hold.Unlock
}

func (c *cutter) cut() int { return int(c.cuts.Load()) }

func (c *cutter) accept() {
	for {
		client, err := c.ln.Accept()
		if err != nil {
			return // the test is over
		}
		c.wg.Go(func() {
			c.wait(&c.hold)
			server, err := net.Dial("tcp", c.server)
			if err != nil {
				_ = client.Close()
				return
			}
			c.relay(client, server)
		})
	}
}

// relay passes both directions on until one of them ends.
func (c *cutter) relay(client, server net.Conn) {
	var cutting atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.answers(client, server, &cutting)
		_ = client.Close()
	}()
	c.requests(client, server, &cutting)
	_ = server.Close()
	<-done
}

// requests passes the client's messages on and notes the COMMIT that is to be cut.
func (c *cutter) requests(client, server net.Conn, cutting *atomic.Bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		c.wait(&c.frozen)
		if n > 0 {
			if bytes.Contains(bytes.ToLower(buf[:n]), []byte("commit\x00")) {
				if c.armed.CompareAndSwap(cutBefore, 0) {
					c.cuts.Add(1)
					return // the server loses its client and rolls back
				}
				cutting.Store(cutting.Load() || c.armed.CompareAndSwap(cutAfter, 0))
			}
			if _, err := server.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (c *cutter) answers(client, server net.Conn, cutting *atomic.Bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		c.wait(&c.frozen)
		if cutting.Load() && n > 0 {
			c.cuts.Add(1) // the server has answered, so it has committed
			return
		}
		if n > 0 {
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
