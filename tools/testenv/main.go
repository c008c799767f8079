//go:build unix

// Testenv brings up the services that the tests need and finds the programs that they run, runs a command with their
// addresses and paths in its environment, and ends what it started: after success, a failure, a signal or a panic.
//
//	testenv [-need postgres,…] [-race] -- command argument…
//
// A service whose variable is set (EINMAL_TEST_POSTGRES, say) is taken as it is. The exit code is the command's;
// 128 plus the signal's number if a signal ended it; 1 if a service could not be had; 2 for a wrong call.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// forwarded are the signals that end a run. The command gets each of them.
var forwarded = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

func main() {
	// Linux ends a child with the thread that started it (see endWithParent), so all are started by this one.
	runtime.LockOSThread()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, forwarded...)
	os.Exit(run(os.Args[1:], services, signals, os.Stderr))
}

// options is what the call asks for.
type options struct {
	need    []string
	race    bool
	command []string
}

// run does the whole work and returns the exit code.
func run(args []string, table []service, signals <-chan os.Signal, log io.Writer) int {
	opts, err := parse(args, table, log)
	if err != nil {
		return 2
	}
	ctx, cancel := signal.NotifyContext(context.Background(), forwarded...)
	defer cancel()
	e := &environment{log: log}
	defer e.close()
	if err := e.up(ctx, opts, table); err != nil {
		fmt.Fprintln(log, "testenv:", err)
		return 1
	}
	return execute(opts.command, e.vars, signals, log)
}

// parse reads the call. Whatever is wrong has been written to log when it returns an error.
func parse(args []string, table []service, log io.Writer) (options, error) {
	flags := flag.NewFlagSet("testenv", flag.ContinueOnError)
	flags.SetOutput(log)
	need := flags.String("need", strings.Join(names(table), ","), "services to bring up, separated by commas")
	race := flags.Bool("race", false, "make sure of a C compiler, which go's race detector needs")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	opts := options{need: strings.FieldsFunc(*need, func(r rune) bool { return r == ',' }), race: *race, command: flags.Args()}
	for _, n := range opts.need {
		if !slices.Contains(names(table), n) {
			return options{}, complain(log, "-need: no service %q; there are: %s", n, strings.Join(names(table), ", "))
		}
	}
	if len(opts.command) == 0 {
		return options{}, complain(log, "no command; write it after --, such as: testenv -- go test ./...")
	}
	return opts, nil
}

func complain(log io.Writer, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	fmt.Fprintln(log, "testenv:", err)
	return errors.Join(flag.ErrHelp, err)
}
