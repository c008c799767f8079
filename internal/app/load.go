package app

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
)

// Flags are what the command line sets; empty: nothing. They go before the file.
type Flags struct {
	Listen, Data, Mark, Store, Policy, Ledger string
	NoEcho                                    bool
}

// Load reads the configuration: the defaults, then the file, then the flags. file may be empty.
func Load(file string, f Flags) (Config, error) {
	c := Default()
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return c, fmt.Errorf("the configuration file %s cannot be read: %w", file, err)
		}
		if err := readYAML(b, &c); err != nil {
			return c, fmt.Errorf("the configuration file %s:\n%s", file, yaml.FormatError(err, false, true))
		}
	}
	for _, s := range []struct {
		to    *string
		value string
	}{{&c.Listen.HTTP, f.Listen}, {&c.Data, f.Data}, {&c.Mark, f.Mark}, {&c.Store, f.Store}} {
		if s.value != "" {
			*s.to = s.value
		}
	}
	c.takePolicyFlag(f.Policy)
	c = c.withDefaults()
	if err := c.takeSimulatorFlags(f); err != nil {
		return c, err
	}
	if err := c.check(); err != nil && file != "" {
		return c, fmt.Errorf("the configuration (file %s): %w", file, err)
	} else if err != nil {
		return c, fmt.Errorf("the configuration: %w", err)
	}
	return c, nil
}

// readYAML reads a file into the defaults. One without content leaves them; the decoder would clear them.
func readYAML(b []byte, c *Config) error {
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' && line != "---" {
			return yaml.UnmarshalWithOptions(b, c, yaml.Strict())
		}
	}
	return nil
}

// takeSimulatorFlags sets what belongs to the built-in simulator.
func (c *Config) takeSimulatorFlags(f Flags) error {
	if f.Ledger == "" && !f.NoEcho {
		return nil
	}
	for name, k := range c.Connections {
		if k.Kind != kindSimulator {
			continue
		}
		if f.Ledger != "" {
			k.Ledger = f.Ledger
		}
		if f.NoEcho {
			k.NoEcho, k.Lookup = true, Lookup{}
		}
		c.Connections[name] = k
		return nil
	}
	return fmt.Errorf("--smsc-ledger and --smsc-no-echo belong to the built-in simulator, and the configuration names another connection")
}

// Masked is the configuration as it may be shown: without secrets.
func (c Config) Masked() Config {
	if u, err := url.Parse(c.Store); err == nil && u.User != nil {
		if _, has := u.User.Password(); has {
			u.User = url.UserPassword(u.User.Username(), "masked")
			c.Store = u.String()
		}
	}
	all := make(map[string]Connection, len(c.Connections))
	for name, k := range c.Connections {
		k.Password = maskReference(k.Password)
		all[name] = k
	}
	c.Connections = all
	return c
}

// maskReference keeps a reference, which is no secret, and masks a value.
func maskReference(v string) string {
	if v == "" || strings.HasPrefix(v, "env:") || strings.HasPrefix(v, "file:") {
		return v
	}
	return "masked"
}

// YAML is the configuration as a file.
func (c Config) YAML() string {
	b, err := yaml.Marshal(c)
	if err != nil {
		return "# the configuration cannot be written: " + err.Error() + "\n"
	}
	return string(b)
}
