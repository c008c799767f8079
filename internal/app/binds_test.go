package app_test

import (
	"bufio"
	"net"
	"testing"

	"github.com/einmal/einmal/internal/app"
	wire "github.com/einmal/einmal/internal/smpp"
)

// TestSeparateBindsAreConfigured: the setting reaches the wire.
func TestSeparateBindsAreConfigured(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	for separate, want := range map[bool]wire.CommandID{false: wire.CmdBindTransceiver, true: wire.CmdBindReceiver} {
		c := testConfig(t, "sqlite")
		k := c.Connections["simulator"]
		k.Kind, k.Address, k.Ledger, k.SeparateBinds = "smpp", l.Addr().String(), "", separate
		c.Connections = map[string]app.Connection{"carrier": k}
		g := start(t, c)
		conn, err := l.Accept()
		must(t, err)
		raw, err := wire.ReadFrame(bufio.NewReader(conn))
		must(t, err)
		if p, err := wire.Decode(raw); err != nil || p.Command != want {
			t.Errorf("separate_binds %t: the first PDU is %v, %v", separate, p.Command, err)
		}
		must(t, conn.Close())
		g.stop()
	}
}
