package app

import (
	"fmt"
	"strconv"

	"github.com/goccy/go-yaml/ast"

	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/provider/binds"
	"github.com/einmal/einmal/internal/provider/smpp"
)

// Binds is how many binds a connection has over all nodes, which share them. A simulator is each node's own, and so are
// its binds: its far side is in the node's process, and nobody else can reach it.
type Binds int

// maxBinds is far above what any operator allows.
const maxBinds = 100

var errBinds = fmt.Errorf("binds: from 1 to %d, as many as the operator allows at a time", maxBinds)

// UnmarshalYAML reads it with its place in the file. A zero that is written is not a default.
func (b *Binds) UnmarshalYAML(n ast.Node) error { return readText(n, b.UnmarshalText) }

// UnmarshalText reads it.
func (b *Binds) UnmarshalText(text []byte) error {
	got, err := strconv.Atoi(string(text))
	if err != nil || got < 1 || got > maxBinds {
		return errBinds
	}
	*b = Binds(got)
	return nil
}

// bindsOf makes the binds of a connection, none of which is open yet. Several are told apart in logs and receipts.
func bindsOf(c smpp.Config, many Binds) *binds.Provider {
	return binds.New(func(n int) provider.Provider {
		one := c
		if many > 1 {
			one.Bind = fmt.Sprintf("%s/%d", c.Name, n+1)
		}
		return smpp.New(one)
	})
}
