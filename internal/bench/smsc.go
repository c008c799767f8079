package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// smsc is the simulated message centre in a process of its own, with its ledger: a line for each submission,
// written before it is answered.
type smsc struct {
	*child
	ledger   *os.File
	accepted int
	rest     []byte // of the ledger: the beginning of a line
}

func (b *bench) startSMSC(ctx context.Context, s *scratch) (*smsc, error) {
	path := s.path("ledger")
	p, err := b.run(ctx, "smsc", "--json", "--listen", "127.0.0.1:0", "--ledger", path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return &smsc{child: p, ledger: f}, nil
}

// Close ends it.
func (c *smsc) Close() error { return errors.Join(c.ledger.Close(), c.child.Close()) }

var acceptedLine = []byte(`"outcome":"accepted"`)

// count reads on in the ledger and returns how many messages were accepted so far.
func (c *smsc) count() (int, error) {
	more, err := io.ReadAll(c.ledger)
	if err != nil {
		return 0, err
	}
	all := append(c.rest, more...)
	whole := bytes.LastIndexByte(all, '\n') + 1
	c.accepted += bytes.Count(all[:whole], acceptedLine)
	c.rest = bytes.Clone(all[whole:])
	return c.accepted, nil
}

// awaited is how long messages may take to arrive after the last of them was taken.
const awaited = 2 * time.Minute

// until asks again and again until so many are there. It tells progress.
func (b *bench) until(ctx context.Context, what string, want int, count func() (int, error)) error {
	const pause = 50 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	last, since := -1, time.Now()
	for {
		got, err := count()
		if err != nil {
			return err
		}
		b.Progress(what, got, want)
		switch {
		case got == want:
			return nil
		case got > want && want > 0:
			return fmt.Errorf("%s: %d instead of %d", what, got, want)
		case got != last:
			last, since = got, time.Now()
		case time.Since(since) > awaited:
			return fmt.Errorf("%s: %d of %d, and no more came in %s", what, got, want, awaited)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
