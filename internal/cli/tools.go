package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/alecthomas/kong"

	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/provider/simulator"
)

type smscCmd struct {
	Listen   string        `help:"Address to listen on." default:"127.0.0.1:2775" placeholder:"HOST:PORT"`
	Ledger   string        `help:"Where it writes what it took, a JSON object a line." type:"path" placeholder:"FILE"`
	NoEcho   bool          `help:"Do not send user_message_reference back in receipts."`
	SystemID string        `help:"What a bind must give as system_id; else any."`
	Password string        `help:"What a bind must give as password; else any." env:"EINMAL_SMSC_PASSWORD"`
	Slow     time.Duration `name:"slow-receipt" help:"How long the receipt of a number that ends in 10 takes." default:"20s"`
	JSON     bool          `name:"json" help:"Print the start line as JSON."`
}

func (c *smscCmd) Run(ctx context.Context, env *Env) error {
	server := simulator.New(simulator.Config{
		Listen: c.Listen, LedgerPath: c.Ledger, Echo: !c.NoEcho, SystemID: c.SystemID, Password: c.Password,
		SlowReceipt: c.Slow,
	})
	if err := server.Start(); err != nil {
		return err
	}
	if c.JSON {
		if err := compact(env, map[string]any{"event": "ready", "listen": server.Addr(), "simulated": true}); err != nil {
			return errors.Join(err, server.Close())
		}
	} else {
		_, _ = fmt.Fprintf(env.Stdout, "simulated SMSC on %s; the last two digits of a destination choose what becomes of a message\n", server.Addr())
	}
	select {
	case <-env.Signals:
	case <-ctx.Done():
	}
	return server.Close()
}

type migrateCmd struct{ gatewayFlags }

func (c *migrateCmd) Run(ctx context.Context, env *Env) error {
	if err := env.App.Migrate(ctx, c.options(), env.Stderr); err != nil {
		return err
	}
	_, err := fmt.Fprintln(env.Stdout, "the store's schema is this release's")
	return err
}

type configCmd struct{ gatewayFlags }

func (c *configCmd) Run(env *Env) error {
	text, err := env.App.Config(c.options())
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(env.Stdout, text)
	return err
}

type chaosCmd struct {
	Points chaosPointsCmd `cmd:"" help:"List the points at which EINMAL_KILL=point:n ends the process."`
}

type chaosPointsCmd struct{}

func (c *chaosPointsCmd) Run(env *Env) error {
	for _, p := range chaos.Points() {
		_, _ = fmt.Fprintln(env.Stdout, p)
	}
	if !chaos.Enabled {
		_, _ = fmt.Fprintln(env.Stderr, "this build ignores them: build with -tags chaos")
	}
	return nil
}

type versionCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

func (c *versionCmd) Run(env *Env) error {
	if c.JSON {
		return compact(env, telemetry.BuildVersion())
	}
	return showVersion(env.Stdout)
}

func showVersion(w io.Writer) error {
	v := telemetry.BuildVersion()
	_, err := fmt.Fprintf(w, "einmal %s (%s, %s)\n", v.Version, v.Revision, v.Go)
	return err
}

// versionFlag does what the command version does, before anything else is asked for.
type versionFlag bool

// BeforeReset is called by the parser where the flag is given.
func (versionFlag) BeforeReset(parser *kong.Kong) error {
	err := showVersion(parser.Stdout)
	if err == nil {
		parser.Exit(exitDone)
	}
	return err
}
