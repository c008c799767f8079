package cli

import (
	"context"
	"log/slog"
)

// App is what commands need of internal/app.
type App struct {
	// Open makes a gateway that is not started yet.
	Open func(Options) (Gateway, error)
	// Migrate brings the schema of a store to this release and says what it did.
	Migrate func(ctx context.Context, o Options) (string, error)
	// Config returns the configuration in force as YAML, secrets masked.
	Config func(o Options) ([]byte, error)
}

// Options are the flags of serve. Empty values leave it to the configuration file, and that to the defaults.
type Options struct {
	Listen     string // host:port
	Data       string // folder
	Store      string // URL; "": SQLite in the data folder
	Config     string // file; "": none
	SMSCLedger string // file; "": none
	Log        *slog.Logger
}

// Gateway is a gateway in this process.
type Gateway interface {
	// Start returns when the gateway takes requests.
	Start(ctx context.Context) error
	// Stop takes no new request, finishes what is under way until ctx ends, and returns.
	Stop(ctx context.Context) error
	// Running describes a gateway that was started.
	Running() Running
}

// Running is what a started gateway is. It holds no secret: the admin key is in a file.
type Running struct {
	Listen       string `json:"listen"` // the address in use, also where port 0 was asked for
	Data         string `json:"data"`
	AdminKeyFile string `json:"admin_key_file"`
	Store        string `json:"store"` // "sqlite" or "postgres"
	Simulated    bool   `json:"simulated"`
}
