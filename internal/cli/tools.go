package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/telemetry"
)

type migrateCmd struct{ gatewayFlags }

func (c *migrateCmd) Run(ctx context.Context, env *Env) error {
	if err := env.App.Migrate(ctx, c.options(env), env.Stderr); err != nil {
		return err
	}
	_, err := fmt.Fprintln(env.Stdout, "the store's schema is this release's")
	return err
}

type chaosCmd struct {
	Points chaosPointsCmd `cmd:"" help:"List the points at which EINMAL_KILL=point:n ends the process, and EINMAL_PAUSE=point:n stops it."`
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
