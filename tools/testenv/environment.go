//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
)

// environment is what a run has brought up so far.
type environment struct {
	log     io.Writer
	vars    []string // NAME=value, for the command
	scratch *scratch
	started []*server
}

// up brings up what the options ask for. What had been started when it fails is ended by close.
func (e *environment) up(ctx context.Context, opts options, table []service) error {
	var err error
	if e.scratch, err = newScratch(e.log); err != nil {
		return err
	}
	if opts.race {
		cc, err := compiler(ctx, e.scratch)
		if err != nil {
			return err
		}
		e.vars = append(e.vars, "CC="+cc)
	}
	for _, s := range table {
		if !slices.Contains(opts.need, s.name) {
			continue
		}
		if err := e.bring(ctx, s); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// bring makes one service available.
func (e *environment) bring(ctx context.Context, s service) error {
	if os.Getenv(s.env) != "" {
		fmt.Fprintf(e.log, "testenv: %s: what %s names\n", s.name, s.env)
		return nil
	}
	srv, err := s.start(ctx, e.scratch)
	if err != nil {
		return err
	}
	e.started = append(e.started, srv)
	e.vars = append(e.vars, s.env+"="+srv.value)
	fmt.Fprintf(e.log, "testenv: %s: %s\n", s.name, srv.about)
	return nil
}

// close ends everything, last first, and removes the folder. It goes on after an error: the rest must end too.
func (e *environment) close() {
	for _, srv := range slices.Backward(e.started) {
		if srv.stop == nil {
			continue
		}
		if err := srv.stop(); err != nil {
			fmt.Fprintf(e.log, "testenv: ending %s: %v\n", srv.about, err)
		}
	}
	if err := e.scratch.remove(); err != nil {
		fmt.Fprintln(e.log, "testenv: removing the temporary folder:", err)
	}
}
