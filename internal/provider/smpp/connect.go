package smpp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"time"

	wire "github.com/einmal/einmal/internal/smpp"
)

// bindError says that the other side refused to bind.
type bindError struct{ status wire.Status }

func (e *bindError) Error() string {
	return fmt.Sprintf("smpp: the bind was refused: %s (%s)", e.status.Text(), e.status)
}

// refused reports whether the account itself is wrong. To go on trying gets accounts locked.
func (e *bindError) refused() bool {
	switch e.status {
	case wire.StatusInvPassword, wire.StatusInvSystemID, wire.StatusInvSysType:
		return true
	}
	return false
}

// occupied reports whether an earlier session has the place, most likely one that is dead and not yet missed.
func (e *bindError) occupied() bool { return e.status == wire.StatusAlreadyBound }

// run binds, waits for the session's end and binds again, until ctx ends.
func (p *Provider) run(ctx context.Context) {
	defer close(p.ended)
	for step := p.cfg.BackoffMin; ctx.Err() == nil && !p.isStopping(); {
		p.status.Store("connecting")
		l, err := p.connect(ctx)
		p.far.Store(err != nil && !errors.As(err, new(*bindError)))
		if err == nil {
			step = p.cfg.BackoffMin
			err = p.serve(ctx, l)
		}
		wait := p.backoff(step, err)
		step = min(2*step, p.cfg.BackoffMax)
		if ctx.Err() == nil && !p.isStopping() {
			p.status.Store("paused: " + detail(err))
			p.noteNotBound(err, wait)
		}
		pause(ctx, wait)
	}
}

// noteNotBound warns, unless the message centre only holds an earlier session of ours: that is what a take-over from a
// node that died looks like, and passes by itself.
func (p *Provider) noteNotBound(err error, wait time.Duration) {
	level := slog.LevelWarn
	if refusal := (*bindError)(nil); errors.As(err, &refusal) && refusal.occupied() {
		level = slog.LevelInfo
	}
	p.cfg.Logger.Log(context.Background(), level, "not bound", "connection", p.cfg.Name, "bind", p.cfg.Bind, "error", err, "retry_in", wait)
}

// backoff is the pause before the next bind.
func (p *Provider) backoff(step time.Duration, err error) time.Duration {
	refusal := (*bindError)(nil)
	switch {
	case !errors.As(err, &refusal):
	case refusal.refused():
		return p.cfg.BackoffRefused
	case refusal.occupied():
		return jitter(min(step, p.cfg.BackoffBound), p.cfg.BackoffBound)
	}
	return jitter(step, p.cfg.BackoffMax)
}

// jitter spreads the reconnects of many nodes: the step or up to half of it more, at most top.
func jitter(step, top time.Duration) time.Duration {
	return min(top, step+rand.N(step/2+1)) // not a secret
}

// link is what a connection is bound with.
type link struct {
	submits  *wire.Session
	delivers *wire.Session // the same one, where it is a transceiver
}

// unbind ends both sides in order: nothing more is submitted before nothing more is taken.
func (l link) unbind(ctx context.Context) {
	l.submits.Unbind(ctx)
	l.delivers.Unbind(ctx)
}

// serve makes the link the one that submissions go through, until one of its sessions ends, and says why it did. The
// end of ctx ends it in order: an answer under way is worth waiting for.
func (p *Provider) serve(ctx context.Context, l link) error {
	p.live.Store(&l)
	p.mu.Lock()
	if !p.stopping {
		p.session.Store(l.submits)
		p.status.Store("bound")
	}
	p.mu.Unlock()
	p.cfg.Logger.Info("bound", "connection", p.cfg.Name, "bind", p.cfg.Bind)
	p.freed()
	first := l.submits
	select {
	case <-l.submits.Done():
	case <-l.delivers.Done():
		first = l.delivers
	case <-ctx.Done():
	}
	err := first.Err()
	p.session.CompareAndSwap(l.submits, nil)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.ResponseTimeout)
	defer cancel()
	l.unbind(last)
	return err
}

// connect binds. Of two binds the receiver's is the first, so that the receipts of what is submitted have somewhere
// to go.
func (p *Provider) connect(ctx context.Context) (link, error) {
	if !p.cfg.SeparateBinds {
		s, err := p.open(ctx, wire.CmdBindTransceiver)
		return link{s, s}, err
	}
	delivers, err := p.open(ctx, wire.CmdBindReceiver)
	if err != nil {
		return link{}, err
	}
	submits, err := p.open(ctx, wire.CmdBindTransmitter)
	if err != nil {
		delivers.Unbind(ctx)
		return link{}, err
	}
	return link{submits, delivers}, nil
}

// open makes one session and binds it.
func (p *Provider) open(ctx context.Context, as wire.CommandID) (*wire.Session, error) {
	conn, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	s := wire.NewSession(conn, wire.Config{
		Window: p.cfg.Window, ResponseTimeout: p.cfg.ResponseTimeout, EnquireLink: p.cfg.EnquireLink,
		Handle: p.handle, Freed: p.freed,
	})
	if err := p.bind(ctx, s, as); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (p *Provider) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.ConnectTimeout)
	defer cancel()
	var d net.Dialer
	if !p.cfg.TLS {
		return d.DialContext(ctx, "tcp", p.cfg.Address)
	}
	return (&tls.Dialer{NetDialer: &d, Config: p.cfg.TLSConfig}).DialContext(ctx, "tcp", p.cfg.Address)
}

func (p *Provider) bind(ctx context.Context, s *wire.Session, as wire.CommandID) error {
	answer := make(chan error, 1)
	err := s.Request(&wire.Request{
		PDU: wire.PDU{Command: as, Body: &wire.Bind{
			SystemID: p.cfg.SystemID, Password: p.cfg.Password, SystemType: p.cfg.SystemType,
			InterfaceVersion: wire.Version34,
		}},
		Done: func(r wire.Result) {
			if !r.Late {
				answer <- bindResult(r)
			}
		},
	})
	if err != nil {
		return err
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func bindResult(r wire.Result) error {
	switch {
	case r.PDU == nil:
		return r.Err
	case r.PDU.Status != wire.StatusOK:
		return &bindError{r.PDU.Status}
	case r.PDU.Command == wire.CmdGenericNack:
		return &bindError{wire.StatusInvCmdID}
	}
	return nil
}
