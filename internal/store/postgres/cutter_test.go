//go:build services

package postgres_test

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// cutter is a proxy before the server. Once armed it ends the connection of the next COMMIT right after the
// server has committed: the answer is read and not passed on, so that the client cannot know.
type cutter struct {
	t      *testing.T
	ln     net.Listener
	server string
	armed  atomic.Bool
	cuts   atomic.Int64
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

func (c *cutter) arm() { c.armed.Store(true) }

func (c *cutter) cut() int { return int(c.cuts.Load()) }

func (c *cutter) accept() {
	for {
		client, err := c.ln.Accept()
		if err != nil {
			return // the test is over
		}
		server, err := net.Dial("tcp", c.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		c.wg.Go(func() { c.relay(client, server) })
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
		if n > 0 {
			if bytes.Contains(bytes.ToLower(buf[:n]), []byte("commit\x00")) && c.armed.CompareAndSwap(true, false) {
				cutting.Store(true)
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
