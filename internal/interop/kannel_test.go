//go:build services

package interop

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/provider/simulator"
	wire "github.com/einmal/einmal/internal/smpp"
)

// kannelConfig makes a Kannel of our own: bound to our message centre, on loopback, with nothing kept on a disk. Its
// numbers are the ports of the admin interface, of smsbox, of our message centre, of sendsms, and of our web server.
const kannelConfig = `
group = core
admin-port = %[1]d
admin-interface = 127.0.0.1
admin-password = secret
smsbox-port = %[2]d
smsbox-interface = 127.0.0.1
box-allow-ip = "127.0.0.1"
dlr-storage = internal

group = smsc
smsc = smpp
smsc-id = einmal
host = 127.0.0.1
port = %[3]d
transceiver-mode = true
smsc-username = kannel
smsc-password = secret
system-type = ""
source-addr-autodetect = true
reconnect-delay = 1

group = smsbox
bearerbox-host = 127.0.0.1
bearerbox-port = %[2]d
sendsms-port = %[4]d
sendsms-interface = 127.0.0.1

group = sendsms-user
username = shop
password = secret
max-messages = 5
concatenation = true

group = sms-service
keyword = default
catch-all = true
max-messages = 0
get-url = "http://127.0.0.1:%[5]d/inbound?from=%%p&to=%%P&text=%%b"
`

// kannel is a running Kannel and what it calls.
type kannel struct {
	t       *testing.T
	sendsms string
	calls   chan *url.URL // of receipts and inbound messages
	web     *httptest.Server
}

func startKannel(t *testing.T, s *smsc) *kannel {
	t.Helper()
	folder := wanted(t, "EINMAL_TEST_KANNEL", "the folder of Kannel's programs bearerbox and smsbox")
	k := &kannel{t: t, calls: make(chan *url.URL, 100)}
	k.web = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { k.calls <- r.URL }))
	t.Cleanup(k.web.Close)
	ports := freePorts(t, 3)
	config := filepath.Join(t.TempDir(), "kannel.conf")
	text := fmt.Sprintf(kannelConfig, ports[0], ports[1], port(t, s.Addr()), ports[2], port(t, k.web.Listener.Addr().String()))
	must(t, os.WriteFile(config, []byte(text), 0o600))
	run(t, filepath.Join(folder, "bearerbox"), "-v", "0", config)
	eventually(t, "bearerbox", listens(ports[1]))
	log := run(t, filepath.Join(folder, "smsbox"), "-v", "0", config)
	eventually(t, "smsbox", listens(ports[2]))
	eventually(t, "smsbox to connect", func() bool { return strings.Contains(log.String(), "Connected to bearerbox") })
	k.sendsms = "http://" + loopback(ports[2]) + "/cgi-bin/sendsms"
	return k
}

func listens(port int) func() bool {
	return func() bool {
		conn, err := net.Dial("tcp", loopback(port))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
}

// send sends a text and asks for every receipt, to be told by name.
func (k *kannel) send(name, to, text string, more url.Values) {
	k.t.Helper()
	const allReceipts = 31
	v := url.Values{
		"username": {"shop"}, "password": {"secret"}, "from": {"SHOP"}, "to": {to}, "text": {text}, "charset": {"utf-8"},
		"dlr-mask": {strconv.Itoa(allReceipts)}, "dlr-url": {k.web.URL + "/receipt?name=" + name + "&type=%d&id=%F"},
	}
	for key, values := range more {
		v[key] = values
	}
	resp, err := http.Get(k.sendsms + "?" + v.Encode())
	must(k.t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	must(k.t, err)
	if resp.StatusCode != http.StatusAccepted {
		k.t.Fatalf("sendsms: %s %s", resp.Status, body)
	}
}

// call returns the next call.
func (k *kannel) call() *url.URL {
	k.t.Helper()
	select {
	case u := <-k.calls:
		return u
	case <-time.After(patience):
		k.t.Fatal("Kannel calls nobody")
		return nil
	}
}

// Kannel's types of receipts.
const (
	kannelDelivered   = "1"
	kannelUndelivered = "2"
	kannelAccepted    = "8"
	kannelRejected    = "16"
)

// TestKannelSubmits: Kannel binds to our message centre; what it submits arrives, and what becomes of it reaches the
// URL that it was given.
func TestKannelSubmits(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, simulator.Config{Password: "secret"})
	k := startKannel(t, s)
	long := strings.Repeat("A longer text. ", 20)
	k.send("delivered", "+12025550100", "Hello {World} €5", nil)
	k.send("undelivered", "+12025550101", "Hello", nil)
	k.send("rejected", "+12025550102", "Hello", nil)
	k.send("cyrillic", "+12025550115", "Привет", url.Values{"coding": {"2"}})
	k.send("long", "+12025550116", long, nil)
	want := map[string]int{
		"delivered " + kannelAccepted: 1, "delivered " + kannelDelivered: 1,
		"undelivered " + kannelAccepted: 1, "undelivered " + kannelUndelivered: 1,
		"rejected " + kannelRejected: 1,
		"cyrillic " + kannelAccepted: 1, "cyrillic " + kannelDelivered: 1,
		"long " + kannelAccepted: 1, "long " + kannelDelivered: 1,
	}
	got, ids := map[string]int{}, map[string]bool{}
	for range len(want) {
		q := k.call().Query()
		got[q.Get("name")+" "+q.Get("type")]++
		if q.Get("type") == kannelDelivered {
			ids[q.Get("id")] = true
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("receipts %v, want %v", got, want)
	}
	for id := range ids {
		if !slices.ContainsFunc(s.entries(), func(e simulator.Entry) bool { return e.MessageID == id }) {
			t.Errorf("the message id of a receipt is %q", id)
		}
	}
	checkKannelsTexts(t, s, long)

	must(t, s.Inbound("kannel", "12025550143", "2020", "Hi {there}"))
	call := k.call()
	if q := call.Query(); call.Path != "/inbound" || q.Get("from") != "+12025550143" || q.Get("to") != "2020" || q.Get("text") != "Hi {there}" {
		t.Errorf("inbound: %v", call)
	}
}

// checkKannelsTexts reads what Kannel submitted, as it came and as handsets show it.
func checkKannelsTexts(t *testing.T, s *smsc, long string) {
	t.Helper()
	for number, want := range map[string]string{"12025550100": "Hello {World} €5", "12025550115": "Привет", "12025550116": long} {
		got := s.Handset(number)
		if len(got) != 1 || got[0].Text != want || got[0].From != "SHOP" {
			t.Errorf("a handset shows %+v, want %q", got, want)
		}
	}
	var parts []gsm.Concat
	for _, e := range s.entries() {
		if e.Destination != "12025550116" {
			continue
		}
		header, _, _ := wire.SplitUDH(e.ShortMessage)
		udh, err := gsm.ParseUDH(header)
		must(t, err)
		if part, ok := udh.Concat(); ok {
			parts = append(parts, part)
		}
	}
	if len(parts) != 2 || parts[0].Reference != parts[1].Reference || parts[0].Total != 2 || parts[1].Sequence != 2 {
		t.Errorf("the parts are %+v", parts)
	}
}
