package egress

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"testing"
)

// names is a name server on loopback. It answers every question with the addresses that are set, one set after another;
// the last one stays.
type names struct {
	mu      sync.Mutex
	answers [][]netip.Addr
	asked   int // questions about IPv4 addresses
	conn    net.PacketConn
}

func newNames(t *testing.T, answers ...[]netip.Addr) *names {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &names{answers: answers, conn: conn}
	done := make(chan struct{})
	go n.serve(done)
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return n
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", n.conn.LocalAddr().String())
	}}
}

func (n *names) serve(done chan struct{}) {
	defer close(done)
	buf := make([]byte, 1500)
	for {
		size, from, err := n.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if reply := n.reply(buf[:size]); reply != nil {
			_, _ = n.conn.WriteTo(reply, from)
		}
	}
}

const (
	typeA    = 1
	typeAAAA = 28
)

// reply answers a question (RFC 1035, section 4).
func (n *names) reply(query []byte) []byte {
	end := 12 // of the header
	for end < len(query) && query[end] != 0 {
		end += int(query[end]) + 1
	}
	end += 5 // the name's end, type and class
	if end > len(query) {
		return nil
	}
	kind := binary.BigEndian.Uint16(query[end-4:])
	reply := append([]byte{query[0], query[1], 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end]...)
	for _, a := range n.next(kind) {
		raw := a.AsSlice()
		reply = append(reply, 0xc0, 12, byte(kind>>8), byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(raw)))
		reply = append(reply, raw...)
		reply[7]++
	}
	return reply
}

// next is the current answer's addresses of a kind. An answer is over with the question about IPv4.
func (n *names) next(kind uint16) (found []netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := min(n.asked, len(n.answers)-1)
	if kind == typeA {
		n.asked++
	}
	for _, a := range n.answers[i] {
		if kind == typeA && a.Is4() || kind == typeAAAA && a.Is6() {
			found = append(found, a)
		}
	}
	return found
}

func addrs(all ...string) []netip.Addr {
	out := make([]netip.Addr, len(all))
	for i, s := range all {
		out[i] = netip.MustParseAddr(s)
	}
	return out
}
