//go:build services

package interop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait for another program. A wait that reaches it has failed.
const patience = 20 * time.Second

// wanted returns what a variable names. Without it the test fails: tests that need another program are built with the
// tag "services" alone.
func wanted(t *testing.T, variable, what string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		t.Fatalf("%s is not set: run make test, or set it to %s", variable, what)
	}
	return value
}

// pdu is a PDU as a library sees it, in the form of testdata/peer.js and peer.pl.
type pdu struct {
	Command  string         `json:"command"`
	ID       uint32         `json:"id,omitempty"`
	Status   uint32         `json:"status,omitempty"`
	Sequence uint32         `json:"sequence,omitempty"`
	Fields   map[string]any `json:"fields,omitempty"`
	TLVs     []tlv          `json:"tlvs,omitempty"`
	Reading  *reading       `json:"reading,omitempty"`
}

// tlv has its octets, or what a library read from them.
type tlv struct {
	Tag   uint16  `json:"tag"`
	Hex   *string `json:"hex,omitempty"`
	Value any     `json:"value,omitempty"`
}

// reading is a text as a library reads it.
type reading struct {
	UDH  []string `json:"udh"`
	Text string   `json:"text"`
}

func (p pdu) tlv(tag uint16) *tlv {
	for i := range p.TLVs {
		if p.TLVs[i].Tag == tag {
			return &p.TLVs[i]
		}
	}
	return nil
}

// order is a line for the peer.
type order struct {
	Do   string `json:"do"`
	Port int    `json:"port,omitempty"`
	Hex  string `json:"hex,omitempty"`
	PDU  *pdu   `json:"pdu,omitempty"`
}

// event is a line of the peer.
type event struct {
	Event    string            `json:"event"`
	Message  string            `json:"message"`
	Port     int               `json:"port"`
	Hex      string            `json:"hex"`
	PDU      pdu               `json:"pdu"`
	Commands map[string]uint32 `json:"commands"`
	Statuses map[string]uint32 `json:"statuses"`
	TLVs     map[string]uint16 `json:"tlvs"`
}

// peer is a running library.
type peer struct {
	t      *testing.T
	in     *json.Encoder
	events chan event
	seen   []event // not asked for yet
	errors *lockedBuffer
}

// lockedBuffer takes what a program writes until the test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startPeer runs a library's driver until the test ends. It ends by itself when its input does.
func startPeer(t *testing.T, l library) *peer {
	t.Helper()
	cmd := l.command(t)
	p := &peer{t: t, events: make(chan event, 1000), errors: &lockedBuffer{}}
	cmd.Stderr = p.errors
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	p.in = json.NewEncoder(in)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(p.events)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var e event
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				e = event{Event: "failed", Message: fmt.Sprintf("%v: %s", err, lines.Text())}
			}
			p.events <- e
		}
	}()
	t.Cleanup(func() {
		_ = in.Close()
		end(t, cmd, ended)
	})
	return p
}

// end waits for a program's end, and kills it when that takes too long.
func end(t *testing.T, cmd *exec.Cmd, ended <-chan struct{}) {
	t.Helper()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Errorf("%s does not end", cmd.Path)
		_ = cmd.Process.Kill()
		<-ended
	}
	_ = cmd.Wait()
}

func (p *peer) do(o order) {
	p.t.Helper()
	must(p.t, p.in.Encode(o))
}

// await returns the first event that fits; those that do not are kept for later.
func (p *peer) await(what string, fits func(event) bool) event {
	p.t.Helper()
	for i, e := range p.seen {
		if fits(e) {
			p.seen = append(p.seen[:i:i], p.seen[i+1:]...)
			return e
		}
	}
	timeout := time.After(patience)
	for {
		select {
		case e, ok := <-p.events:
			switch {
			case !ok:
				p.t.Fatalf("waiting for %s: the peer ended\n%s", what, p.errors)
			case fits(e):
				return e
			case e.Event == "failed" || e.Event == "error":
				p.t.Fatalf("waiting for %s: %s\n%s", what, e.Message, p.errors)
			}
			p.seen = append(p.seen, e)
		case <-timeout:
			p.t.Fatalf("waiting for %s; came: %+v\n%s", what, p.seen, p.errors)
		}
	}
}

// ask gives an order and returns the event that answers it.
func (p *peer) ask(o order, name string) event {
	p.t.Helper()
	p.do(o)
	return p.await(name, func(e event) bool { return e.Event == name })
}

// receive returns the next PDU of a kind.
func (p *peer) receive(command string) pdu {
	p.t.Helper()
	return p.await(command, func(e event) bool { return e.Event == "pdu" && e.PDU.Command == command }).PDU
}

// request sends a request and returns its answer.
func (p *peer) request(command string, fields map[string]any, tlvs ...tlv) pdu {
	p.t.Helper()
	p.do(order{Do: "send", PDU: &pdu{Command: command, Fields: fields, TLVs: tlvs}})
	return p.receive(command + "_resp")
}

// answer answers a request.
func (p *peer) answer(request pdu, status uint32, fields map[string]any, tlvs ...tlv) {
	p.t.Helper()
	p.do(order{Do: "send", PDU: &pdu{Command: request.Command + "_resp", Status: status, Sequence: request.Sequence, Fields: fields, TLVs: tlvs}})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// port is the port of an address.
func port(t *testing.T, address string) int {
	t.Helper()
	_, p, err := net.SplitHostPort(address)
	must(t, err)
	n, err := strconv.Atoi(p)
	must(t, err)
	return n
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
