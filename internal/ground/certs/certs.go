// Package certs keeps a server's certificate as its files have it while it serves.
package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Files are where the certificate is.
type Files struct {
	Cert, Key string // PEM
	// ClientCA has the certificates of those who sign clients' certificates; "": clients have none.
	ClientCA string
	// Optional lets clients in that show no certificate. One that is shown is checked all the same.
	Optional bool
}

// every is how often the files are looked at: a certificate is renewed days before its end.
const every = 2 * time.Second

// Server is a server's side of TLS. New connections get what was read last; those that are open stay as they are.
type Server struct {
	files   Files
	log     *slog.Logger
	current atomic.Pointer[tls.Config]
	mu      sync.Mutex // of seen
	seen    string     // what the files looked like when they were read, well or not
	stop    context.CancelFunc
	done    chan struct{}
}

// Open reads the files. What is wrong with them is an error now, and later a reason to go on with what was read before.
func Open(f Files, log *slog.Logger) (*Server, error) {
	s := &Server{files: f, log: log, seen: look(f)}
	c, err := load(f)
	if err != nil {
		return nil, err
	}
	s.current.Store(c)
	return s, nil
}

// Config is what a listener works with.
func (s *Server) Config() *tls.Config {
	c := s.current.Load().Clone()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.current.Load(), nil }
	return c
}

// Start looks at the files every two seconds until Stop.
func (s *Server) Start(ctx context.Context) {
	ctx, s.stop = context.WithCancel(ctx)
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.Check()
			case <-ctx.Done():
				return
			}
		}
	}()
}

// Stop ends what Start began.
func (s *Server) Stop() {
	if s.stop != nil {
		s.stop()
		<-s.done
	}
}

// Check reads the files again if they look otherwise than when they were read. A pair that is being replaced, or is
// broken, leaves the one before in use: the log says so, once for each look that the files have.
func (s *Server) Check() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := look(s.files)
	if now == s.seen {
		return
	}
	s.seen = now
	c, err := load(s.files)
	if err != nil {
		s.log.Error("the certificate was read again and is not used: the one before stays", "error", err)
		return
	}
	s.current.Store(c)
	s.log.Info("the certificate was read again: new connections get it", "expires", c.Certificates[0].Leaf.NotAfter)
}

// look is what can be seen of the files without reading them.
func look(f Files) string {
	all := ""
	for _, name := range []string{f.Cert, f.Key, f.ClientCA} {
		if info, err := os.Stat(name); err == nil {
			all += fmt.Sprint(info.ModTime().UnixNano(), info.Size(), "|")
		} else {
			all += "none|"
		}
	}
	return all
}

func load(f Files) (*tls.Config, error) {
	pair, err := Pair(f.Cert, f.Key)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	if f.ClientCA == "" {
		return c, nil
	}
	if c.ClientCAs, err = Pool(f.ClientCA); err != nil {
		return nil, err
	}
	// A session that is taken up again would bring a client's certificate along that nobody has checked since.
	c.SessionTicketsDisabled = true
	c.ClientAuth = tls.RequireAndVerifyClientCert
	if f.Optional {
		c.ClientAuth = tls.VerifyClientCertIfGiven
	}
	return c, nil
}

// Pair reads a certificate with its key.
func Pair(cert, key string) (tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return pair, fmt.Errorf("the certificate %s with the key %s cannot be used: %w", cert, key, err)
	}
	return pair, nil
}

// Pool reads the certificates of authorities.
func Pool(file string) (*x509.CertPool, error) {
	b, err := os.ReadFile(file) // the operator's own
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return nil, errors.New(file + " has no certificate in PEM")
	}
	return pool, nil
}
