package cli

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/edge/api"
	"github.com/einmal/einmal/internal/ground/settings"
	"github.com/einmal/einmal/internal/ground/telemetry"
)

// App is what commands need of internal/app. Tests put something else in its place.
type App struct {
	// Open makes a gateway that is not started yet.
	Open func(o Options, stderr io.Writer) (Gateway, error)
	// Migrate brings the schema of a store to this release.
	Migrate func(ctx context.Context, o Options, stderr io.Writer) error
	// Restored opens the store of a data folder that no gateway uses.
	Restored func(ctx context.Context, o Options, stderr io.Writer) (Restored, error)
	// Config returns the configuration in force, secrets masked, and where each value comes from.
	Config func(o Options) ([]settings.Shown, error)
}

// Options say which gateway is meant. Empty flags leave it to the environment, that to the file, and that to the
// defaults.
type Options struct {
	app.Flags
	Config  string   // file; "": none
	Environ []string // NAME=value
}

// Gateway is a gateway in this process.
type Gateway interface {
	// Start returns when the gateway takes requests.
	Start(ctx context.Context) error
	// Stop takes no new request, finishes what is under way until ctx ends, and returns.
	Stop(ctx context.Context) error
	// Failed receives an error if the gateway ends by itself.
	Failed() <-chan error
	// Reloads reports whether there is something that Reload would read again.
	Reloads() bool
	// Reload reads the policy file and the certificate again; what is wrong with them goes to the log.
	Reload(ctx context.Context)
	// Running describes a gateway that was started.
	Running() Running
}

// Running is what a started gateway is. It holds no secret: the admin key is in a file.
type Running struct {
	Listen       string `json:"listen"` // the address in use, also where port 0 was asked for
	TLS          bool   `json:"tls"`
	InClear      bool   `json:"-"` // keys are sent in clear text where others may read them
	Data         string `json:"data"`
	AdminKeyFile string `json:"admin_key_file"`
	Store        string `json:"store"`  // "sqlite" or "postgres"
	Policy       string `json:"policy"` // the version in force
	Simulated    bool   `json:"simulated"`
	Mark         string `json:"mark"`           // the file that is kept beside the store
	Held         string `json:"held,omitempty"` // why traffic waits; "": it does not
}

// Restored is a store in this process, for what follows a restore of it.
type Restored interface {
	Survey(ctx context.Context, asOf time.Time) (api.RestoredView, error)
	// Release notes that traffic is to go on.
	Release(ctx context.Context, b api.ReleaseBody) error
	// Await returns when it does. If that takes more than a second it is told each second how things are.
	Await(ctx context.Context, progress func(*api.RestoredView)) error
	Close() error
}

// realApp is internal/app.
func realApp() App {
	return App{Open: openApp, Migrate: migrateApp, Restored: restoredApp, Config: configApp}
}

// load reads the configuration and makes its logger.
func load(o Options, stderr io.Writer) (app.Config, *slog.Logger, error) {
	l, err := loaded(o)
	if err != nil {
		return l.Config, nil, err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.Log.Level)); err != nil { // it was checked
		return l.Config, nil, err
	}
	return l.Config, telemetry.NewLogger(stderr, telemetry.Format(l.Log.Format), level), nil
}

func loaded(o Options) (app.Loaded, error) {
	l, err := app.Sources{File: o.Config, Environ: o.Environ, Flags: o.Flags}.Load()
	if err != nil {
		return l, &failure{code: exitUsage, text: err.Error()}
	}
	return l, nil
}

// gateway is an app.App with the configuration that it was made of.
type gateway struct {
	*app.App
	config app.Config
}

// Running describes it.
func (g *gateway) Running() Running {
	return Running{
		Listen: g.Addr(), TLS: g.config.Listen.TLS.Cert != "", InClear: g.config.Listen.InClear(), Data: g.config.Data, AdminKeyFile: g.AdminKeyFile(), Store: g.config.StoreName(), Policy: g.PolicyInForce(), Simulated: g.Simulated(),
		Mark: g.Mark(), Held: g.Held(),
	}
}

func openApp(o Options, stderr io.Writer) (Gateway, error) {
	c, log, err := load(o, stderr)
	if err != nil {
		return nil, err
	}
	return &gateway{app.New(c, log), c}, nil
}

func migrateApp(ctx context.Context, o Options, stderr io.Writer) error {
	c, log, err := load(o, stderr)
	if err != nil {
		return err
	}
	return app.Migrate(ctx, c, log)
}

func restoredApp(ctx context.Context, o Options, stderr io.Writer) (Restored, error) {
	c, log, err := load(o, stderr)
	if err != nil {
		return nil, err
	}
	return app.OpenRestored(ctx, c, log)
}

func configApp(o Options) ([]settings.Shown, error) {
	l, err := loaded(o)
	return l.Shown(), err
}
