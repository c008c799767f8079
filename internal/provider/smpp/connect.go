package smpp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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

// run binds, waits for the session's end and binds again, until ctx ends.
func (p *Provider) run(ctx context.Context) {
	defer close(p.ended)
	for step := p.cfg.BackoffMin; ctx.Err() == nil && !p.isStopping(); {
		p.status.Store("connecting")
		s, err := p.connect(ctx)
		if err == nil {
			step = p.cfg.BackoffMin
			p.serve(ctx, s)
			err = s.Err()
		}
		wait := p.backoff(step, err)
		step = min(2*step, p.cfg.BackoffMax)
		if ctx.Err() == nil && !p.isStopping() {
			p.status.Store("paused: " + detail(err))
			p.cfg.Logger.Warn("not bound", "connection", p.cfg.Name, "error", err, "retry_in", wait)
		}
		pause(ctx, wait)
	}
}

// backoff is the pause before the next bind.
func (p *Provider) backoff(step time.Duration, err error) time.Duration {
	if refusal := (*bindError)(nil); errors.As(err, &refusal) && refusal.refused() {
		return p.cfg.BackoffRefused
	}
	return jitter(step, p.cfg.BackoffMax)
}

// jitter spreads the reconnects of many nodes: the step or up to half of it more, at most top.
func jitter(step, top time.Duration) time.Duration {
	return min(top, step+rand.N(step/2+1)) // not a secret
}

// serve makes the session the one that submissions go through, until it ends. The end of ctx ends it in order:
// an answer under way is worth waiting for.
func (p *Provider) serve(ctx context.Context, s *wire.Session) {
	p.live.Store(s)
	p.mu.Lock()
	if !p.stopping {
		p.session.Store(s)
		p.status.Store("bound")
	}
	p.mu.Unlock()
	p.cfg.Logger.Info("bound", "connection", p.cfg.Name)
	p.freed()
	select {
	case <-s.Done():
	case <-ctx.Done():
	}
	p.session.CompareAndSwap(s, nil)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.ResponseTimeout)
	defer cancel()
	s.Unbind(last)
}

func (p *Provider) connect(ctx context.Context) (*wire.Session, error) {
	conn, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	s := wire.NewSession(conn, wire.Config{
		Window: p.cfg.Window, ResponseTimeout: p.cfg.ResponseTimeout, EnquireLink: p.cfg.EnquireLink,
		Handle: p.handle, Freed: p.freed,
	})
	if err := p.bind(ctx, s); err != nil {
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

func (p *Provider) bind(ctx context.Context, s *wire.Session) error {
	answer := make(chan error, 1)
	err := s.Request(&wire.Request{
		PDU: wire.PDU{Command: wire.CmdBindTransceiver, Body: &wire.Bind{
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
