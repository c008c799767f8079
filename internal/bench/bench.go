// Package bench measures the gateway against the bare work that it cannot do without, on the machine and in the
// run in which both are done. A figure alone says little on a shared machine; a ratio says what the gateway adds.
//
// Each comparison has rounds, and in each round every side has its turn, in an order that changes, so that noise
// hits all of them alike. What needs a process of its own has one: the gateway, the message centre and what they
// are compared with, so that CPU time and memory are theirs alone. Nothing leaves the loopback interface.
package bench

import (
	"context"
	"errors"
	"io"
	"time"
)

// Options are what every bench wants to know.
type Options struct {
	// Store is "sqlite", or the URL of a PostgreSQL server on which databases may be made: each run makes its own
	// and removes them.
	Store string
	// Folder is where the runs keep their files; "": the system's folder for such things. What is measured there
	// is its disk.
	Folder string
	// Count is how many items each side does in a round, Rounds how often.
	Count, Rounds int
	// Program starts this program as another process: its path, then arguments that go before all others.
	Program []string
	// Progress is told in a few words what is being done, and how far it is; nil: nobody is.
	Progress func(doing string, done, of int)
}

// errCount says what a run needs at least.
var errCount = errors.New("at least one round of one item is needed: see --count and --rounds")

// bench is one run.
type bench struct {
	Options
	report *Report
	server server // of the database, if it is on this machine
}

// start begins a report.
func start(ctx context.Context, name string, o Options) (*bench, error) {
	if o.Count < 1 || o.Rounds < 1 {
		return nil, errCount
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	machine, err := machineOf(ctx, o.Store)
	if err != nil {
		return nil, err
	}
	b := &bench{Options: o, report: &Report{Bench: name, Store: engineOf(o.Store), Machine: machine, Began: time.Now().UTC()}}
	b.server, err = findServer(ctx, o.Store)
	return b, err
}

// end finishes the report, if nothing went wrong.
func (b *bench) end(err error) (*Report, error) {
	if err != nil {
		return nil, err
	}
	b.report.TookMs = time.Since(b.report.Began).Milliseconds()
	return b.report, nil
}

func (b *bench) add(lines ...Line) { b.report.Lines = append(b.report.Lines, lines...) }

// closing closes c and keeps its error if there is none yet.
func closing(err *error, c io.Closer) {
	if closed := c.Close(); *err == nil {
		*err = closed
	}
}
