// Package cli is the command line. Commands that ask or change something talk to a running gateway through its
// API, as any client would; serve, migrate, backup, doctor and config hand over to internal/app; smsc runs the simulated SMSC.
//
// Output is for people, with colours on a terminal only (and never with NO_COLOR set), or for machines with
// --json. Errors go to stderr and say what to run next. Exit codes:
//
//	0  done
//	1  failed
//	2  wrong usage: a flag, an argument, or a field of the request
//	3  not found
//	4  the gateway cannot be reached, or is not available at the moment
//	5  the API key is missing, wrong, or may not do this
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/alecthomas/kong"
)

// Env is the world that a run of the program sees.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Environ        func() []string         // nil: nothing is set
	Signals        <-chan os.Signal        // SIGINT and SIGTERM
	Hangups        func() <-chan os.Signal // SIGHUP from now on; nil: it is not listened to
	Terminal       bool                    // Stdout is one
	Started        time.Time               // when the process began
	App            App
}

// untilSignal is ctx until somebody interrupts the command. Once cancel returns nobody takes signals any more: the next
// one is another command's.
func (e *Env) untilSignal(ctx context.Context) (_ context.Context, cancel context.CancelFunc) {
	ctx, end := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-e.Signals:
			end()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		end()
		<-ended
	}
}

type commands struct {
	Serve      serveCmd      `cmd:"" help:"Run the gateway. Without configuration: an embedded store, a simulated carrier, and an admin key in a file."`
	Demo       demoCmd       `cmd:"" help:"Show in under a minute what the gateway does with double clicks, lost answers and receipts that come twice, and count whether its promises held."`
	Send       sendCmd       `cmd:"" help:"Submit a message, from flags or as JSON from stdin."`
	Explain    explainCmd    `cmd:"" help:"Say in plain words why a request was sent or not: give a msg_… or dec_… id."`
	Timeline   timelineCmd   `cmd:"" help:"List everything that happened to a message."`
	Handset    handsetCmd    `cmd:"" help:"Show what a simulated handset received, or let it answer (simulator only)."`
	SMSC       smscCmd       `cmd:"" name:"smsc" help:"Run the simulated SMSC as a process of its own."`
	Policy     policyCmd     `cmd:"" help:"Check and test a policy file, bring it into force, and show what is."`
	Tenant     tenantCmd     `cmd:"" help:"Make, list, suspend and resume tenants."`
	Key        keyCmd        `cmd:"" help:"Make, list, rotate and revoke API keys."`
	User       userCmd       `cmd:"" help:"The people of a tenant, whom keys belong to."`
	Guest      guestCmd      `cmd:"" help:"Whom team keys reach beside the users."`
	Sender     senderCmd     `cmd:"" help:"What a tenant may send under."`
	Number     numberCmd     `cmd:"" help:"Numbers that are leased to tenants."`
	Connection connectionCmd `cmd:"" help:"Add, list, change, disable and remove connections while the gateway runs."`
	Route      routeCmd      `cmd:"" help:"Which messages leave over which connection."`
	Wallet     walletCmd     `cmd:"" help:"The money of prepaid tenants: show it, pay in, lift a limit, and prove that all of it fits."`
	Price      priceCmd      `cmd:"" help:"What a part costs, by destination and tenant."`
	Webhook    webhookCmd    `cmd:"" help:"Addresses that are told of events: add, test, rotate and remove them, show and replay what was told."`
	Bench      benchCmd      `cmd:"" help:"Measure this machine: the gateway against the bare work that it cannot do without."`
	Stop       stopCmd       `cmd:"" help:"Emergency stop: hold what waits, by tenant, purpose or connection, or all of it."`
	Resume     resumeCmd     `cmd:"" help:"Lift an emergency stop."`
	Stops      stopsCmd      `cmd:"" help:"List emergency stops."`
	Restored   restoredCmd   `cmd:"" help:"After a restore of the store: show what is in doubt, and let traffic go on."`
	Outcome    outcomeCmd    `cmd:"" help:"Say what became of a message of which nobody knows whether the provider took it."`
	Requeue    requeueCmd    `cmd:"" help:"Send a message that a restore left unknown, and that certainly was not sent."`
	Doctor     doctorCmd     `cmd:"" help:"Look at store, keys, mark, disk, clock, certificates, binds and variables, and say what to run next. Ends with 0 (all is well), 1 (warnings) or 2 (something does not work)."`
	Health     healthCmd     `cmd:"" help:"Ask the gateway of this configuration whether it is ready, for probes: ends with 0 or 1."`
	Backup     backupCmd     `cmd:"" help:"Copy the embedded store to a file, also while the gateway runs."`
	Migrate    migrateCmd    `cmd:"" help:"Bring a store's schema to this release."`
	Config     configCmd     `cmd:"" help:"Show the configuration in force, secrets masked."`
	Chaos      chaosCmd      `cmd:"" help:"Failure tests (builds with -tags chaos)."`
	Version    versionCmd    `cmd:"" help:"Show the version."`
	Receipts   receiptsCmd   `cmd:"" help:"Read stored receipts again."`
	Exceptions exceptionsCmd `cmd:"" help:"What the gateway could not settle by itself: list, show and resolve it."`

	ShowVersion versionFlag `name:"version" help:"Show the version."`
}

const about = "Einmal: a gateway between your applications and SMS providers. One intent, one message.\n\n" +
	"Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 not reachable or not available, 5 key missing or not allowed."

// exited carries the exit code out of the parser, which ends the program by itself after --help.
type exited int

// Run runs one command and returns the program's exit code.
func Run(ctx context.Context, args []string, env Env) (code int) {
	defer func() {
		v := recover()
		if e, ok := v.(exited); ok {
			code = int(e)
		} else if v != nil {
			panic(v)
		}
	}()
	var c commands
	parser, err := kong.New(&c, kong.Name("einmal"), kong.Description(about), kong.Writers(env.Stdout, env.Stderr),
		kong.Exit(func(code int) { panic(exited(code)) }))
	if err != nil {
		return env.fail(err) // a mistake in the tags above
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return env.fail(&failure{code: exitUsage, text: err.Error(), next: "einmal --help"})
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	if err := parsed.Run(&env); err != nil {
		return env.fail(err)
	}
	return exitDone
}

// The exit codes.
const (
	exitDone = iota
	exitFailed
	exitUsage
	exitNotFound
	exitUnreachable
	exitRefused
)

// failure is an error with its exit code and what to run next.
type failure struct {
	code int
	text string
	next string // "": nothing helps that could be named
}

func (f *failure) Error() string { return f.text }

// fail reports an error and returns its exit code.
func (e *Env) fail(err error) int {
	if w := worst(0); errors.As(err, &w) {
		return int(w)
	}
	f := &failure{code: exitFailed, text: err.Error()}
	errors.As(err, &f)
	_, _ = fmt.Fprintln(e.Stderr, "einmal: "+f.text)
	if f.next != "" {
		_, _ = fmt.Fprintln(e.Stderr, "  next: "+f.next)
	}
	return f.code
}
