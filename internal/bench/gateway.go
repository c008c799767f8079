package bench

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
)

// gateway is a gateway in a process of its own, over a store of a run.
type gateway struct {
	*child
	url, key string
}

// members are a part of a configuration file.
type members map[string]any

// serve starts a gateway that sends over one connection, and may tell endpoints of this process.
func (b *bench) serve(ctx context.Context, s *scratch, connection members) (*gateway, error) {
	config := members{"connections": members{"carrier": connection}, "webhooks": loopback()}
	if s.policy != nil {
		config["policy"] = "file:" + s.path("policy.yaml")
	}
	file, err := yaml.Marshal(config)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(s.path("einmal.yaml"), file, 0o600); err != nil {
		return nil, err
	}
	p, err := b.run(ctx, "serve", "--json", "--listen", "127.0.0.1:0", "--log-level", "error",
		"--config", s.path("einmal.yaml"), "--data", s.folder, "--store", s.store)
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(p.ready.AdminKeyFile)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return &gateway{p, "http://" + p.ready.Listen, strings.TrimSpace(string(key))}, nil
}

// unbound is a connection on which nothing leaves: nobody listens there. Decisions are measured with it.
func unbound() members { return smppTo("127.0.0.1:1") }

// smppTo is a connection to a message centre.
func smppTo(address string) members {
	return members{"kind": "smpp", "address": address, "system_id": "bench", "password": "bench"}
}
