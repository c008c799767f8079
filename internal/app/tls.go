package app

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/einmal/einmal/internal/ground/certs"
)

// TLS says how a carrier is spoken to: true, or with members of its own.
type TLS struct {
	On         bool   `yaml:"-"`
	CA         string `yaml:"ca,omitempty" doc:"file:PATH of the certificates by which the carrier's is checked; else the system's"`
	Cert       string `yaml:"cert,omitempty" doc:"file:PATH of our certificate, where the carrier wants one"`
	Key        string `yaml:"key,omitempty" doc:"file:PATH of its key"`
	ServerName string `yaml:"server_name,omitempty" doc:"the name in the carrier's certificate, where it is not that of address"`
}

var errTLS = errors.New("tls: write true, false, or members such as {ca: file:PATH}")

// UnmarshalText reads the short form.
func (t *TLS) UnmarshalText(text []byte) error {
	if s := string(text); s != "true" && s != "false" {
		return errTLS
	}
	t.On = string(text) == "true"
	return nil
}

// MarshalText writes it.
func (t TLS) MarshalText() ([]byte, error) { return fmt.Append(nil, t.On), nil }

// UnmarshalYAML reads both forms. Members alone mean that TLS is spoken.
func (t *TLS) UnmarshalYAML(n ast.Node) error {
	if _, members := n.(ast.MapNode); !members {
		return readText(n, t.UnmarshalText)
	}
	type plain TLS
	p := plain{On: true}
	if err := yaml.NodeToValue(n, &p, yaml.Strict()); err != nil {
		return err
	}
	*t = TLS(p)
	return nil
}

// on reports whether TLS is spoken: a member that a variable sets means it, too.
func (t TLS) on() bool { return t.On || t.CA+t.Cert+t.Key+t.ServerName != "" }

func (t TLS) check() error {
	if (t.Cert == "") != (t.Key == "") {
		return errors.New("key: a certificate and its key belong together: give cert and key")
	}
	_, err := t.Client()
	return err
}

// Client is a client's side of TLS; nil: TLS is not spoken.
func (t TLS) Client() (*tls.Config, error) {
	if !t.on() {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	var err error
	if t.CA != "" {
		if c.RootCAs, err = certs.Pool(afterFile(t.CA)); err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
	}
	if t.Cert == "" {
		return c, nil
	}
	if _, err := certs.Pair(afterFile(t.Cert), afterFile(t.Key)); err != nil {
		return nil, fmt.Errorf("cert: %w", err)
	}
	// Read with each handshake, so that a new certificate counts from the next bind on.
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := certs.Pair(afterFile(t.Cert), afterFile(t.Key))
		return &pair, err
	}
	return c, nil
}
