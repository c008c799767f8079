package app

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// checkConnection finds what cannot work of one connection, with what would be right. Which references this node can
// follow is another question: see Connection.read.
func (c Config) checkConnection(name string, k Connection) error {
	if !connectionName.MatchString(name) {
		return fmt.Errorf("connections: %q is no name: write letters, digits and the signs _ - . without spaces, at most 64", name)
	}
	if err := k.check(); err != nil {
		return fmt.Errorf("connections.%s: %w", name, err)
	}
	return c.checkGrace(name, k)
}

// checkGrace finds receipts that would be given up before their answers are.
func (c Config) checkGrace(name string, k Connection) error {
	if c.Receipts.Grace <= k.ResponseTimeout {
		return fmt.Errorf("receipts.grace: longer than connections.%s.response_timeout (%s), or a receipt is given up before its answer is",
			name, time.Duration(k.ResponseTimeout))
	}
	return nil
}

// connectionsFrom says where the connections of the configuration are from.
func (c Config) connectionsFrom() string {
	if c.named {
		return fromFile
	}
	return fromDefault
}

// lineAndColumn means nothing in what was put together from words.
var lineAndColumn = regexp.MustCompile(`^\[\d+:\d+\] `)

// readSettings reads the settings of a connection that is administered: JSON with the members of the configuration file.
func readSettings(text []byte) (k Connection, err error) {
	if err := yaml.UnmarshalWithOptions(text, &k, yaml.Strict()); err != nil {
		return k, errors.New(lineAndColumn.ReplaceAllString(mistake(err, namesIn("", &Connection{})), ""))
	}
	return k.withDefaults(), nil
}

// StoredConnection reads the settings of one that is kept in the store.
func StoredConnection(settings string) (Connection, error) { return readSettings([]byte(settings)) }

// refuseLiterals keeps secrets out of the store, and what writes files of this machine out of the API's reach.
func (k Connection) refuseLiterals() error {
	if k.Password != "" && !isReference(k.Password) {
		return errors.New("password: a secret is not stored: write a reference, env:NAME or file:PATH, that every node can read")
	}
	if k.Ledger != "" {
		return errors.New("ledger: a file is named in the configuration alone")
	}
	return nil
}

func isReference(v string) bool { return strings.HasPrefix(v, "env:") || strings.HasPrefix(v, "file:") }
