// Package app makes a running gateway of a configuration. It is the only package that knows every other.
package app

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/einmal/einmal/internal/domain/phone"
)

// Config is everything that can be set. Its tags are the members of the configuration file.
type Config struct {
	Listen       Listen       `yaml:"listen"`
	Data         string       `yaml:"data"`           // folder of the embedded store, of the keys and of the lock
	Mark         string       `yaml:"mark,omitempty"` // file that is kept beside the store; "": see markPlaces
	Store        string       `yaml:"store"`          // "sqlite" or postgres://user:password@host:port/database
	Policy       string       `yaml:"policy"`         // "builtin" or file:PATH
	Sender       string       `yaml:"sender"`         // of requests that name none
	Destinations Destinations `yaml:"destinations"`
	Receipts     Receipts     `yaml:"receipts"`
	Feed         Feed         `yaml:"feed"`
	Log          Log          `yaml:"log"`
	// Connections are where messages are sent. This release uses one; later ones route among several.
	Connections map[string]Connection `yaml:"connections"`
}

// Listen says where the gateway listens.
type Listen struct {
	HTTP string `yaml:"http"` // host:port
}

// Destinations says which numbers are texted.
type Destinations struct {
	Unassigned string `yaml:"unassigned"` // accept or refuse those that their country has not given out
}

// What Destinations.Unassigned may be.
const (
	accept = "accept"
	refuse = "refuse"
)

// Receipts says how long delivery receipts are waited for and looked back to.
type Receipts struct {
	// Grace is how long a receipt waits for its message id to become known before a person is asked.
	Grace Duration `yaml:"grace"`
	// LookBack is how long an attempt whose answer was lost keeps its own reference and is paired with receipts.
	LookBack Duration `yaml:"look_back"`
}

// Feed says how long GET /v1/events shows an event. The event itself stays.
type Feed struct {
	Keep Duration `yaml:"keep"`
}

// Log says what is logged and how.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn, error
	Format string `yaml:"format"` // text or json
}

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
	Window int  `yaml:"window"`         // in-flight limit
	Rate   Rate `yaml:"rate,omitempty"` // none: as fast as the window lets
	// Senders are those with a rate of their own, beside the connection's.
	Senders         map[string]Sender `yaml:"senders,omitempty"`
	ResponseTimeout Duration          `yaml:"response_timeout"` // after it a submission's outcome is unknown
	EnquireLink     Duration          `yaml:"enquire_link"`     // silence before the link is tested
	Lookup          Lookup            `yaml:"lookup"`
	Receipts        Declared          `yaml:"receipts,omitempty"` // what is known of its receipts
	Long            Long              `yaml:"long"`               // texts of more than one part
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

// Duration is written like 90s, 15m or 72h.
type Duration time.Duration

// UnmarshalText reads it.
func (d *Duration) UnmarshalText(b []byte) error {
	got, err := time.ParseDuration(string(b))
	if err != nil || got <= 0 {
		return fmt.Errorf("not a duration: write it like 90s, 15m or 72h")
	}
	*d = Duration(got)
	return nil
}

// MarshalText writes it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// kinds of connections.
const (
	kindSimulator = "simulator"
	kindSMPP      = "smpp"
	storeSQLite   = "sqlite"
)

// Default is the configuration of a gateway that nobody configured: an embedded store and a simulator.
func Default() Config {
	return Config{
		Listen: Listen{HTTP: "127.0.0.1:8080"}, Data: "./einmal-data", Store: storeSQLite, Policy: policyBuiltin, Sender: "Einmal",
		Destinations: Destinations{Unassigned: accept},
		Receipts:     Receipts{Grace: Duration(15 * time.Minute), LookBack: Duration(72 * time.Hour)},
		Feed:         Feed{Keep: Duration(30 * 24 * time.Hour)},
		Log:          Log{Level: "info", Format: "text"},
	}
}

// withDefaults fills in what was left open, above all the connection.
func (c Config) withDefaults() Config {
	if len(c.Connections) == 0 {
		c.Connections = map[string]Connection{kindSimulator: {Kind: kindSimulator}}
	}
	all := make(map[string]Connection, len(c.Connections))
	for name, k := range c.Connections {
		all[name] = k.withDefaults()
	}
	c.Connections = all
	return c
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
	k.Long = k.Long.withDefaults()
	if k.Window == 0 {
		k.Window = 10 // what operators commonly allow
		if k.Kind == kindSimulator {
			k.Window = 256
		}
	}
	return k
}

// check finds what cannot work, with what would be right.
func (c Config) check() error {
	if _, _, err := net.SplitHostPort(c.Listen.HTTP); err != nil {
		return fmt.Errorf("listen.http: %q is not host:port, such as 127.0.0.1:8080", c.Listen.HTTP)
	}
	if c.Store != storeSQLite && !strings.HasPrefix(c.Store, "postgres://") && !strings.HasPrefix(c.Store, "postgresql://") {
		return fmt.Errorf("store: write sqlite, or postgres://user:password@host:port/database")
	}
	if c.Data == "" {
		return fmt.Errorf("data: name a folder")
	}
	if _, err := c.readPolicy(); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	if _, err := phone.ParseSender(c.Sender); c.Sender != "" && err != nil {
		return fmt.Errorf("sender: %w", err)
	}
	if u := c.Destinations.Unassigned; u != accept && u != refuse {
		return fmt.Errorf("destinations.unassigned: write accept or refuse")
	}
	for name, d := range map[string]Duration{"receipts.grace": c.Receipts.Grace, "receipts.look_back": c.Receipts.LookBack} {
		if time.Duration(d) < time.Second {
			return fmt.Errorf("%s: at least 1s", name)
		}
	}
	if len(c.Connections) > 1 {
		return fmt.Errorf("connections: this release sends over one connection; %d are named", len(c.Connections))
	}
	for name, k := range c.Connections {
		if err := k.check(); err != nil {
			return fmt.Errorf("connections.%s: %w", name, err)
		}
		if c.Receipts.Grace <= k.ResponseTimeout {
			return fmt.Errorf("receipts.grace: longer than connections.%s.response_timeout (%s), or a receipt is given up before its answer is",
				name, time.Duration(k.ResponseTimeout))
		}
	}
	return nil
}

// maxWindow is far above what any operator allows.
const maxWindow = 10_000

func (k Connection) check() error {
	if err := k.checkSenders(); err != nil {
		return err
	}
	if k.Window < 1 || k.Window > maxWindow {
		return fmt.Errorf("window: from 1 to %d", maxWindow)
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
	switch k.Kind {
	case kindSimulator:
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

// resolve reads a value that may be a reference: env:NAME or file:PATH.
func resolve(value string) (string, error) {
	kind, rest, ok := strings.Cut(value, ":")
	switch {
	case ok && kind == "env":
		v, there := os.LookupEnv(rest)
		if !there {
			return "", fmt.Errorf("the environment has no variable %s", rest)
		}
		return v, nil
	case ok && kind == "file":
		b, err := os.ReadFile(filepath.Clean(rest))
		if err != nil {
			return "", fmt.Errorf("the file %s cannot be read", rest)
		}
		return strings.TrimSpace(string(b)), nil
	}
	return value, nil
}
