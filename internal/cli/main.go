package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Main runs the program in this process and returns its exit code.
func Main() int {
	started := time.Now()
	signals := make(chan os.Signal, 2) // one to stop in order, one to stop at once
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	return Run(context.Background(), os.Args[1:], Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Environ: os.Environ,
		Signals: signals, Hangups: hangups, Terminal: isTerminal(os.Stdout), Started: started, App: realApp(),
	})
}

// isTerminal tells a terminal from a file or a pipe.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// hangups takes SIGHUP over from now on: it does not end the process any more.
func hangups() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c
}
