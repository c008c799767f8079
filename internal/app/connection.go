package app

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/ground/settings"
)

// Connection is one line to a provider.
type Connection struct {
	Kind string `yaml:"kind" one:"simulator smpp" doc:"a carrier, or the SMSC inside the gateway"`
	// For smpp.
	Address       string `yaml:"address,omitempty" doc:"host:port"`
	TLS           TLS    `yaml:"tls,omitempty" doc:"whether the carrier is spoken to in TLS; its members mean true"`
	SystemID      string `yaml:"system_id,omitempty" doc:"or a reference"`
	Password      string `yaml:"password,omitempty" secret:"value" doc:"or a reference"`
	SystemType    string `yaml:"system_type,omitempty" doc:"where the carrier names one; or a reference"`
	SeparateBinds bool   `yaml:"separate_binds,omitempty" doc:"a transmitter and a receiver, for SMSCs that know no transceiver"`
	IDSpace       string `yaml:"id_space,omitempty" doc:"the connection whose message ids this one shares"`
	// For both.
	Binds           Binds             `yaml:"binds" doc:"how many sessions, over all nodes together"`
	Window          Window            `yaml:"window" doc:"in-flight limit of a bind, 10 for smpp"`
	Rate            Rate              `yaml:"rate,omitempty" doc:"messages in a time, over all nodes; none: as fast as the window lets"`
	Senders         map[string]Sender `yaml:"senders,omitempty"`
	ResponseTimeout Duration          `yaml:"response_timeout" doc:"after it a submission's outcome is unknown"`
	EnquireLink     Duration          `yaml:"enquire_link" doc:"silence before the link is tested"`
	Lookup          Lookup            `yaml:"lookup"`
	Receipts        Declared          `yaml:"receipts,omitempty"`
	Long            Long              `yaml:"long"`
	Statuses        Statuses          `yaml:"statuses,omitempty"`
	Addresses       Addresses         `yaml:"addresses"`
	// For the simulator.
	Ledger      string   `yaml:"ledger,omitempty" doc:"file to which the simulator writes what it accepted"`
	NoEcho      bool     `yaml:"no_echo,omitempty" doc:"whether the simulator keeps our reference out of receipts"`
	SlowReceipt Duration `yaml:"slow_receipt,omitempty" doc:"how long the receipt of a number that ends in 10 takes: 20s"`
}

// Lookup declares by what a lost answer can be settled, and who says so.
type Lookup struct {
	By     []string `yaml:"by,omitempty" doc:"own_reference: the carrier sends our own reference back in receipts"`
	Source string   `yaml:"source,omitempty" doc:"where that is written"`
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
func (w *Window) UnmarshalYAML(n ast.Node) error { return readText(n, w.UnmarshalText) }

// UnmarshalText reads it.
func (w *Window) UnmarshalText(text []byte) error {
	got, err := strconv.Atoi(string(text))
	if err != nil || got < 1 || got > maxWindow {
		return errWindow
	}
	*w = Window(got)
	return nil
}

func (k Connection) check() error {
	if err := settings.Check(&k); err != nil {
		return err
	}
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
	if k.Kind == kindSMPP {
		return k.checkSMPP()
	}
	if k.Address != "" || k.TLS.on() {
		return fmt.Errorf("address and tls belong to a connection of the kind smpp")
	}
	return nil
}

func (k Connection) checkSMPP() error {
	if _, _, err := net.SplitHostPort(k.Address); err != nil {
		return fmt.Errorf("address: %q is not host:port, such as smsc.example.net:2775", k.Address)
	}
	if k.Ledger != "" || k.NoEcho || k.SlowReceipt != 0 {
		return fmt.Errorf("ledger, no_echo and slow_receipt belong to a simulator")
	}
	if err := k.TLS.check(); err != nil {
		return fmt.Errorf("tls.%w", err)
	}
	for _, s := range k.credentials() {
		if err := s.check(s.value); err != nil && !isReference(s.value) {
			return err
		}
	}
	return nil
}

// credential is a text of a bind, or a reference to one.
type credential struct {
	name, value string
	most        int // octets, SMPP 3.4 section 4.1.1
}

func (k Connection) credentials() []credential {
	return []credential{{"system_id", k.SystemID, 15}, {"password", k.Password, 8}, {"system_type", k.SystemType, 12}}
}

func (c credential) check(value string) error {
	if len(value) > c.most {
		return fmt.Errorf("%s: at most %d octets, as SMPP has it", c.name, c.most)
	}
	return nil
}

// read follows the references.
func (k Connection) read() (values []string, err error) {
	for _, c := range k.credentials() {
		value, err := resolve(c.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		if err := c.check(value); err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}
