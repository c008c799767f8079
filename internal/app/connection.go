package app

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/einmal/einmal/internal/domain/evidence"
)

// Connection is one line to a provider.
type Connection struct {
	Kind string `yaml:"kind"` // simulator or smpp
	// For smpp.
	Address    string `yaml:"address,omitempty"` // host:port
	TLS        bool   `yaml:"tls,omitempty"`
	SystemID   string `yaml:"system_id,omitempty"` // or env:NAME, file:PATH
	Password   string `yaml:"password,omitempty"`  // or env:NAME, file:PATH
	SystemType string `yaml:"system_type,omitempty"`
	// SeparateBinds binds a transmitter and a receiver where the SMSC knows no transceiver.
	SeparateBinds bool `yaml:"separate_binds,omitempty"`
	// IDSpace is the connection whose message ids this one shares: receipts come back over either.
	IDSpace string `yaml:"id_space,omitempty"`
	// For both.
	Binds  Binds  `yaml:"binds"`          // over all nodes
	Window Window `yaml:"window"`         // in-flight limit of a bind
	Rate   Rate   `yaml:"rate,omitempty"` // none: as fast as the window lets
	// Senders are those with a rate of their own, beside the connection's.
	Senders         map[string]Sender `yaml:"senders,omitempty"`
	ResponseTimeout Duration          `yaml:"response_timeout"` // after it a submission's outcome is unknown
	EnquireLink     Duration          `yaml:"enquire_link"`     // silence before the link is tested
	Lookup          Lookup            `yaml:"lookup"`
	Receipts        Declared          `yaml:"receipts,omitempty"` // what is known of its receipts
	Long            Long              `yaml:"long"`               // texts of more than one part
	Statuses        Statuses          `yaml:"statuses,omitempty"` // what the carrier means by its answers
	Addresses       Addresses         `yaml:"addresses"`          // with which TON and NPI addresses are sent
	// For the simulator.
	Ledger      string   `yaml:"ledger,omitempty"` // file to which it writes what it accepted
	NoEcho      bool     `yaml:"no_echo,omitempty"`
	SlowReceipt Duration `yaml:"slow_receipt,omitempty"` // how long the receipt of ending 10 takes; 0: 20s
}

// Lookup declares by what a lost answer can be settled, and who says so.
type Lookup struct {
	By     []string `yaml:"by,omitempty"` // own_reference: receipts carry our own reference
	Source string   `yaml:"source,omitempty"`
}

// lookupOwnReference declares that a connection echoes our own reference.
const lookupOwnReference = "own_reference"

func (l Lookup) ownReference() bool {
	for _, by := range l.By {
		if by == lookupOwnReference {
			return true
		}
	}
	return false
}

func (k Connection) withDefaults() Connection {
	if k.ResponseTimeout == 0 {
		k.ResponseTimeout = Duration(10 * time.Second)
	}
	if k.EnquireLink == 0 {
		k.EnquireLink = Duration(30 * time.Second)
	}
	if k.Kind == kindSimulator && !k.NoEcho && len(k.Lookup.By) == 0 {
		k.Lookup = Lookup{By: []string{lookupOwnReference}, Source: "the simulator echoes user_message_reference"}
	}
	if k.Receipts.Time == 0 {
		k.Receipts.Time = Duration(evidence.ReceiptTime)
	}
	if k.Binds == 0 {
		k.Binds = 1
	}
	k.Long, k.Addresses = k.Long.withDefaults(), k.Addresses.withDefaults()
	if k.Window == 0 {
		k.Window = 10 // what operators commonly allow
		if k.Kind == kindSimulator {
			k.Window = 256
		}
	}
	return k
}

// Window is how many submissions may wait for their answers at the same time. 0: the default of the connection's kind.
type Window int

// maxWindow is far above what any operator allows.
const maxWindow = 10_000

var errWindow = fmt.Errorf("window: from 1 to %d", maxWindow)

// UnmarshalYAML reads it with its place in the file. A zero that is written is not a default.
func (w *Window) UnmarshalYAML(n ast.Node) error {
	return readText(n, func(text []byte) error {
		got, err := strconv.Atoi(string(text))
		if err != nil || got < 1 || got > maxWindow {
			return errWindow
		}
		*w = Window(got)
		return nil
	})
}

func (k Connection) check() error {
	if err := k.checkSenders(); err != nil {
		return err
	}
	if k.Window < 1 || k.Window > maxWindow {
		return errWindow
	}
	if k.Binds < 1 || k.Binds > maxBinds {
		return errBinds
	}
	for name, d := range map[string]Duration{"response_timeout": k.ResponseTimeout, "enquire_link": k.EnquireLink} {
		if time.Duration(d) < 100*time.Millisecond || time.Duration(d) > time.Hour {
			return fmt.Errorf("%s: from 100ms to 1h", name)
		}
	}
	for _, by := range k.Lookup.By {
		if by != lookupOwnReference {
			return fmt.Errorf("lookup.by: %q is not yet supported; this release knows %s", by, lookupOwnReference)
		}
	}
	if k.Lookup.ownReference() && k.Lookup.Source == "" {
		return fmt.Errorf("lookup.source: say where it is written that receipts carry our reference")
	}
	if err := k.Receipts.check(); err != nil {
		return fmt.Errorf("receipts.%w", err)
	}
	if err := k.Long.check(); err != nil {
		return fmt.Errorf("long.%w", err)
	}
	if err := k.Statuses.check(); err != nil {
		return fmt.Errorf("statuses.%w", err)
	}
	if err := k.Addresses.check(); err != nil {
		return fmt.Errorf("addresses.%w", err)
	}
	switch k.Kind {
	case kindSimulator:
		if k.Address != "" || k.TLS {
			return fmt.Errorf("address and tls belong to a connection of the kind smpp")
		}
		return nil
	case kindSMPP:
		return k.checkSMPP()
	}
	return fmt.Errorf("kind: write simulator or smpp")
}

func (k Connection) checkSMPP() error {
	if _, _, err := net.SplitHostPort(k.Address); err != nil {
		return fmt.Errorf("address: %q is not host:port, such as smsc.example.net:2775", k.Address)
	}
	if k.Ledger != "" || k.NoEcho || k.SlowReceipt != 0 {
		return fmt.Errorf("ledger, no_echo and slow_receipt belong to a simulator")
	}
	for _, s := range []struct {
		name, value string
		most        int // octets, SMPP 3.4 section 4.1.1
	}{{"system_id", k.SystemID, 15}, {"password", k.Password, 8}, {"system_type", k.SystemType, 12}} {
		value, err := resolve(s.value)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if len(value) > s.most {
			return fmt.Errorf("%s: at most %d octets, as SMPP has it", s.name, s.most)
		}
	}
	return nil
}
