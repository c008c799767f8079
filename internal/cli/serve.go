package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/einmal/einmal/internal/app"
)

// stopTime is how long an orderly stop may take: longer than a provider's answer is awaited (10 s), shorter than
// supervisors wait before they kill (90 s with systemd, 30 s with Kubernetes).
const stopTime = 25 * time.Second

type serveCmd struct {
	gatewayFlags
	JSON bool `name:"json" help:"Print the start line as JSON."`
}

// gatewayFlags say which gateway is meant.
type gatewayFlags struct {
	Listen     string `help:"Address to listen on (default 127.0.0.1:8080)." placeholder:"HOST:PORT"`
	Data       string `help:"Data folder (default ./einmal-data)." placeholder:"FOLDER"`
	Mark       string `help:"File that tells a restored store from one that never was, outside of what backups copy (docs/restore.md)." placeholder:"FILE"`
	Store      string `help:"Store, such as postgres://user@host/db; else SQLite in the data folder." placeholder:"URL"`
	Config     string `help:"Configuration file; else what EINMAL_CONFIG names." placeholder:"FILE"`
	Policy     string `help:"Policy file; else the built-in policy." placeholder:"FILE"`
	SMSCLedger string `name:"smsc-ledger" help:"Where the built-in simulator writes what it took." placeholder:"FILE"`
	SMSCNoEcho bool   `name:"smsc-no-echo" help:"The built-in simulator does not send our reference back in receipts."`
	LogFormat  string `help:"How logs are written to stderr: text or json." enum:",text,json" default:"" placeholder:"FORMAT"`
	LogLevel   string `help:"The least level that is logged: debug, info, warn or error." enum:",debug,info,warn,error" default:"" placeholder:"LEVEL"`
}

func (f gatewayFlags) options(env *Env) Options {
	o := env.options(f.Config)
	o.Flags = app.Flags{
		Listen: f.Listen, Data: f.Data, Mark: f.Mark, Store: f.Store, Policy: f.Policy, Ledger: f.SMSCLedger, NoEcho: f.SMSCNoEcho,
		LogFormat: f.LogFormat, LogLevel: f.LogLevel,
	}
	return o
}

// options are those of a gateway that the environment describes, with the file that a flag or EINMAL_CONFIG names.
func (e *Env) options(file string) Options {
	o := Options{Config: file}
	if file == "" {
		o.Config = e.Getenv("EINMAL_CONFIG")
	}
	if e.Environ != nil {
		o.Environ = e.Environ()
	}
	return o
}

func (c *serveCmd) Run(ctx context.Context, env *Env) error {
	if env.Getenv("GOGC") == "" {
		debug.SetGCPercent(app.GCPercent)
	}
	gateway, err := env.App.Open(c.options(env), env.Stderr)
	if err != nil {
		return err
	}
	if err := gateway.Start(ctx); err != nil {
		return err
	}
	c.announce(env, gateway.Running())
	return serveUntilSignal(ctx, env, gateway)
}

// serveUntilSignal stops in order at the first signal, and at once at the second. Where there is a policy file
// or a certificate, a hangup reads it again; where there is none, it ends the process as it ends any other.
func serveUntilSignal(ctx context.Context, env *Env, gateway Gateway) error {
	var hangups <-chan os.Signal
	if gateway.Reloads() && env.Hangups != nil {
		hangups = env.Hangups()
	}
	var failed error
	for running := true; running; {
		select {
		case <-hangups:
			gateway.Reload(ctx)
			continue
		case <-env.Signals:
		case failed = <-gateway.Failed():
		case <-ctx.Done():
		}
		running = false
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- gateway.Stop(stopping) }()
	select {
	case err := <-stopped:
		return errors.Join(failed, err)
	case <-env.Signals:
		return &failure{code: exitFailed, text: "stopped at once: what was being sent is settled at the next start"}
	}
}

// reachable is an address under which this machine reaches what listens, and whether that is on all of its addresses.
func reachable(listen string) (address string, everywhere bool) {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsUnspecified() {
		return listen, false
	}
	return net.JoinHostPort("127.0.0.1", port), true
}

func (r *Running) scheme() string {
	if r.TLS {
		return "https://"
	}
	return "http://"
}

// announce tells scripts and people that the gateway is ready. The key itself is never printed.
func (c *serveCmd) announce(env *Env, r Running) {
	took := time.Since(env.Started).Milliseconds()
	if c.JSON {
		_ = compact(env, struct {
			Event   string `json:"event"`
			ReadyMs int64  `json:"ready_ms"`
			Running
		}{"ready", took, r})
		return
	}
	s := env.style()
	here, _ := reachable(r.Listen)
	here = r.scheme() + here
	_, _ = fmt.Fprintf(env.Stdout, "%s in %d ms on %s\n", s.good("ready"), took, here)
	if r.InClear {
		_, _ = fmt.Fprintln(env.Stdout, s.warn("it listens on more than loopback, and requests carry their keys in clear text: set listen.tls, or put something before it that speaks TLS"))
	}
	if r.Simulated {
		_, _ = fmt.Fprintf(env.Stdout, "messages go to a simulated carrier on this machine: no text leaves it; its handsets: %s/handset/NUMBER\n", here)
	}
	key := "in " + r.AdminKeyFile
	if r.AdminKeyFile == "" {
		key = "none in this folder; copy admin.key of the node that started first, or see  einmal key admin --help"
	}
	_, _ = fmt.Fprintf(env.Stdout, "store: %s, policy: %s, data: %s, mark: %s, admin key: %s\n", r.Store, r.Policy, r.Data, r.Mark, key)
	if r.Held != "" {
		_, _ = fmt.Fprintln(env.Stdout, s.warn("traffic waits: the store went back in time.")+" "+clean(r.Held))
		_, _ = fmt.Fprintln(env.Stdout, "next: einmal restored")
	}
}
