// Package smpp carries messages over an SMPP 3.4 session bound as transceiver, or over two, a transmitter and a receiver.
//
// What is known about a submission is decided by what happened to its octets: never given to the connection is
// NotSent, answered is what the status says, and everything in between is Unknown. Nothing is sent twice here.
package smpp

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/einmal/einmal/internal/domain/receipt"
	wire "github.com/einmal/einmal/internal/smpp"
)

// Config is one connection. The zero value of a field means its default.
type Config struct {
	Name       string // the connection's name, as in logs
	Bind       string // what tells this bind from others of the connection; its name
	Address    string // host:port
	TLS        bool
	TLSConfig  *tls.Config // further settings with TLS: own roots, a client certificate
	SystemID   string      // at most 15 octets
	Password   string      // at most 8 octets
	SystemType string
	// SeparateBinds binds a transmitter and a receiver, for message centres that know no transceiver. The connection
	// is bound while both are.
	SeparateBinds bool

	Window          int           // in-flight limit: 10
	ResponseTimeout time.Duration // 10 s; then a submission's outcome is unknown
	EnquireLink     time.Duration // 30 s of silence before the link is tested
	ConnectTimeout  time.Duration // 10 s

	// RegisteredDelivery asks for receipts (section 5.2.17): 1. Set NoReceipts to ask for none.
	RegisteredDelivery uint8
	NoReceipts         bool
	Receipts           receipt.Settings // what the connection declares of its receipts
	Addresses          *AddressRules    // DefaultAddressRules
	// Statuses are what answers to a submission mean on this connection, where that is not what they mean everywhere.
	// StatusOK is not among them.
	Statuses map[wire.Status]wire.Class

	// After a lost connection or a refused bind the pause grows from BackoffMin (1 s) to BackoffMax (60 s),
	// with jitter. After a refused password or system id it is BackoffRefused (5 min): accounts get locked. After
	// "already bound" it grows to BackoffBound (5 s): the session of a process that is gone lives on at the message
	// centre until that notices, and messages wait for it.
	BackoffMin, BackoffMax, BackoffRefused, BackoffBound time.Duration

	Logger *slog.Logger
}

// TONNPI is a type of number with its numbering plan.
type TONNPI struct{ TON, NPI uint8 }

// AddressRules says how addresses are sent. Operators differ, above all in short codes.
type AddressRules struct {
	Alphanumeric TONNPI
	ShortCode    TONNPI
	Number       TONNPI // a sender that is a number
	Destination  TONNPI
	// ShortCodeDigits is the largest number of digits of a sender without a plus sign that is a short code.
	ShortCodeDigits int
}

// DefaultAddressRules is what most operators expect.
var DefaultAddressRules = AddressRules{
	Alphanumeric:    TONNPI{wire.TONAlphanumeric, wire.NPIUnknown},
	ShortCode:       TONNPI{wire.TONNetwork, wire.NPIUnknown},
	Number:          TONNPI{wire.TONInternational, wire.NPIISDN},
	Destination:     TONNPI{wire.TONInternational, wire.NPIISDN},
	ShortCodeDigits: 8,
}

func (r *AddressRules) source(sender string) wire.Address {
	digits, plus := strings.CutPrefix(sender, "+")
	kind := r.Number
	switch {
	case strings.Trim(digits, "0123456789") != "":
		kind, digits = r.Alphanumeric, sender
	case !plus && len(digits) <= r.ShortCodeDigits:
		kind = r.ShortCode
	}
	return wire.Address{TON: kind.TON, NPI: kind.NPI, Addr: digits}
}

func (r *AddressRules) destination(e164 string) wire.Address {
	return wire.Address{TON: r.Destination.TON, NPI: r.Destination.NPI, Addr: strings.TrimPrefix(e164, "+")}
}

// Addressing gives a submission's addresses as they are sent: TON/NPI and the digits or letters. What is built for the
// wire comes of the same rules.
func (p *Provider) Addressing(sender, destination string) (source, dest string) {
	rules := p.cfg.Addresses
	return written(rules.source(sender)), written(rules.destination(destination))
}

func written(a wire.Address) string { return fmt.Sprintf("%d/%d %s", a.TON, a.NPI, a.Addr) }

func (c Config) withDefaults() Config {
	setDefault(&c.Window, 10)
	setDefault(&c.ResponseTimeout, 10*time.Second)
	setDefault(&c.EnquireLink, 30*time.Second)
	setDefault(&c.ConnectTimeout, 10*time.Second)
	setDefault(&c.BackoffMin, time.Second)
	setDefault(&c.BackoffMax, time.Minute)
	setDefault(&c.BackoffRefused, 5*time.Minute)
	setDefault(&c.BackoffBound, 5*time.Second)
	setDefault(&c.Bind, c.Name)
	setDefault(&c.RegisteredDelivery, 1)
	if c.NoReceipts {
		c.RegisteredDelivery = 0
	}
	setDefault(&c.Addresses, &DefaultAddressRules)
	setDefault(&c.Logger, slog.New(slog.DiscardHandler))
	return c
}

func setDefault[T comparable](v *T, d T) {
	if *v == *new(T) {
		*v = d
	}
}
