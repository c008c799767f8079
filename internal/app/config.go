// Package app makes a running gateway of a configuration. It is the only package that knows every other.
package app

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/einmal/einmal/internal/domain/phone"
	"github.com/einmal/einmal/internal/ground/settings"
)

// Config is everything that can be set. Its tags are the members of the configuration file.
// See settings for the tags.
type Config struct {
	Listen       Listen                `yaml:"listen"`
	PublicURL    string                `yaml:"public_url,omitempty" doc:"the address under which others reach the gateway"`
	Data         string                `yaml:"data" doc:"folder of the embedded store, the keys, the admin key and the lock"`
	Mark         string                `yaml:"mark,omitempty" doc:"file by which a store that was put back is noticed"`
	Store        string                `yaml:"store" secret:"url" doc:"sqlite, a PostgreSQL URL, or a reference to one"`
	Keys         string                `yaml:"keys,omitempty" doc:"where the installation's keys are: file:FOLDER, or env:PREFIX; else keys in the data folder"`
	Policy       string                `yaml:"policy" doc:"builtin, or file:PATH"`
	Sender       string                `yaml:"sender" doc:"sender of requests that name none"`
	Destinations Destinations          `yaml:"destinations"`
	Receipts     Receipts              `yaml:"receipts"`
	Feed         Feed                  `yaml:"feed"`
	History      History               `yaml:"history"`
	Webhooks     Webhooks              `yaml:"webhooks"`
	Log          Log                   `yaml:"log"`
	Connections  map[string]Connection `yaml:"connections" doc:"where messages are sent, by name"`
	// Routes are none with one connection, which then takes all.
	Routes []Route `yaml:"routes,omitempty" doc:"which messages leave over which connection: the first rule that fits counts"`

	named bool // the file names the connections
}

// Destinations says which numbers are texted.
type Destinations struct {
	Unassigned string `yaml:"unassigned" one:"accept refuse" doc:"whether numbers are texted that their country has not given out"`
}

// What Destinations.Unassigned may be.
const (
	accept = "accept"
	refuse = "refuse"
)

// Receipts says how long delivery receipts are waited for and looked back to.
type Receipts struct {
	Grace    Duration `yaml:"grace" doc:"how long a receipt waits for its message id to become known before a person is asked"`
	LookBack Duration `yaml:"look_back" doc:"how long an attempt whose answer was lost keeps its own reference and is paired with receipts"`
}

// Feed says how long GET /v1/events shows an event. The event itself stays.
type Feed struct {
	Keep Duration `yaml:"keep" doc:"how long GET /v1/events shows an event; no longer than history.keep, if nothing is said"`
}

// Log says what is logged and how.
type Log struct {
	Level  string `yaml:"level" one:"debug info warn error" doc:"the least that is logged"`
	Format string `yaml:"format" one:"text json" doc:"how logs are written"`
}

// connectionName is what a connection may be called: the name stands in addresses, metrics and files.
var connectionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// Duration is written like 90s, 15m or 72h.
type Duration time.Duration

// UnmarshalText reads it.
func (d *Duration) UnmarshalText(b []byte) error {
	got, err := parseDuration(string(b))
	if err != nil || got <= 0 {
		return fmt.Errorf("not a duration: write it like 90s, 15m, 72h or 400d")
	}
	*d = Duration(got)
	return nil
}

// parseDuration knows days beside what Go knows.
func parseDuration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16) // 179 years
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(s)
}

// UnmarshalYAML reads it with its place in the file.
func (d *Duration) UnmarshalYAML(n ast.Node) error { return readText(n, d.UnmarshalText) }

// MarshalText writes it, without the zeros that Go adds.
func (d Duration) MarshalText() ([]byte, error) {
	text := time.Duration(d).String()
	for _, zero := range []struct{ has, unit string }{{"m0s", "m"}, {"h0m", "h"}} {
		if strings.HasSuffix(text, zero.has) {
			text = strings.TrimSuffix(text, zero.has) + zero.unit
		}
	}
	return []byte(text), nil
}

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
		History:      History{Keys: Duration(30 * 24 * time.Hour)},
		Webhooks:     Webhooks{Keep: Duration(72 * time.Hour)},
		Log:          Log{Level: "info", Format: "text"},
	}
}

// withConnection adds the connection of a gateway whose configuration names none.
func (c Config) withConnection() Config {
	if c.named = len(c.Connections) > 0; !c.named {
		c.Connections = map[string]Connection{kindSimulator: {Kind: kindSimulator}}
	}
	return c
}

// feedKeep is how long the feed shows an event where nothing else is said.
const feedKeep = Duration(30 * 24 * time.Hour)

// withDefaults fills in what was left open.
func (c Config) withDefaults() Config {
	all := make(map[string]Connection, len(c.Connections))
	for name, k := range c.Connections {
		all[name] = k.withDefaults()
	}
	c.Connections = all
	if c.Feed.Keep == 0 { // it shows nothing that is not kept
		if c.Feed.Keep = feedKeep; c.History.Keep > 0 {
			c.Feed.Keep = min(feedKeep, c.History.Keep)
		}
	}
	return c
}

// check finds what cannot work, with what would be right.
func (c Config) check() error {
	if err := settings.Check(&c); err != nil {
		return err
	}
	if err := c.Listen.check(); err != nil {
		return fmt.Errorf("listen.%w", err)
	}
	if err := checkPublicURL(c.PublicURL); err != nil {
		return err
	}
	if kind, rest, _ := strings.Cut(c.Keys, ":"); c.Keys != "" && (kind != "file" && kind != "env" || rest == "") {
		return fmt.Errorf("keys: write file:FOLDER, or env:PREFIX")
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
	if err := c.History.check(c.Feed.Keep); err != nil {
		return fmt.Errorf("history.%w", err)
	}
	if _, err := c.Webhooks.rules(); err != nil {
		return fmt.Errorf("webhooks.%w", err)
	}
	for name, d := range map[string]Duration{"receipts.grace": c.Receipts.Grace, "receipts.look_back": c.Receipts.LookBack} {
		if time.Duration(d) < time.Second {
			return fmt.Errorf("%s: at least 1s", name)
		}
	}
	for _, name := range c.names() {
		k := c.Connections[name]
		if err := c.checkConnection(name, k); err != nil {
			return err
		}
		if _, err := k.read(); err != nil {
			return fmt.Errorf("connections.%s: %w", name, err)
		}
	}
	return c.checkRouting()
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
