//go:build services

package interop

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/provider"
	adapter "github.com/einmal/einmal/internal/provider/smpp"
)

// smsboxPort is where drive_smpp connects as Kannel's smsbox, a second after its first connection and whatever its
// configuration says. Without anybody there it ends; a Kannel there would take it for its own and pass it messages.
const smsboxPort = 13001

// holdSmsboxPort listens there until the test ends. Another run of this test holds it for a second at most.
func holdSmsboxPort(t *testing.T) {
	t.Helper()
	eventually(t, fmt.Sprintf("port %d of 127.0.0.1, which drive_smpp needs and another program has", smsboxPort), func() bool {
		l, err := net.Listen("tcp", loopback(smsboxPort))
		if err == nil {
			t.Cleanup(func() { must(t, l.Close()) })
		}
		return err == nil
	})
}

// TestGatewayAtDriveSMPP: Kannel's own message centre for tests knows no transceiver, gives no message ids, begins its
// sequence numbers with 0 and sends a request of its own after each message. The gateway submits to it and takes what
// it sends.
func TestGatewayAtDriveSMPP(t *testing.T) {
	t.Parallel()
	program := wanted(t, "EINMAL_TEST_DRIVE_SMPP", "Kannel's program drive_smpp")
	holdSmsboxPort(t)
	const messages = 5
	at := freePorts(t, 1)[0]
	log := run(t, program, "-v", "0", "-p", strconv.Itoa(at), "-m", strconv.Itoa(messages))
	c := connectTo(t, adapter.Config{Address: loopback(at), SeparateBinds: true})
	c.bound()
	if o := outcome(t, c.submit("Hello")); o.Kind != provider.Accepted || o.ExternalID != nil {
		t.Errorf("%+v", o)
	}
	for i := range messages {
		e := c.events.next(t).Parsed
		if e.Kind != provider.KindInbound || e.Text != strconv.Itoa(i+1) || e.Source != "456" || e.Dest != "123" || len(e.Warnings) != 0 {
			t.Errorf("message %d: %+v", i+1, e)
		}
	}
	for _, handled := range []string{"of type deliver_sm_resp", "of type enquire_link_resp"} {
		eventually(t, handled, func() bool { return strings.Count(log.String(), handled) == messages })
	}
	c.stop()
	eventually(t, "an unbind", func() bool { return strings.Contains(log.String(), "of type unbind") })
	for text, times := range map[string]int{
		"submit_sm: short_message = <Hello>": 1, "of type bind_receiver": 1, "of type bind_transmitter": 1,
		"Unhandled": 0, "unpacking failed": 0, "garbage": 0,
	} {
		if got := strings.Count(log.String(), text); got != times {
			t.Errorf("%q is %d times in its log, want %d", text, got, times)
		}
	}
}
