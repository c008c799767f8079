package app

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/engine/relay/deliver"
	"github.com/einmal/einmal/internal/engine/relay/payload"
	"github.com/einmal/einmal/internal/ground/egress"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Webhooks says where tenants may be told of events.
type Webhooks struct {
	// Allow are networks of the inside that tenants may name all the same, such as 127.0.0.0/8 on a developer's machine.
	Allow []string `yaml:"allow,omitempty" doc:"networks of the inside that tenants may have told of events, such as 127.0.0.0/8; for development"`
	HTTP  bool     `yaml:"http,omitempty" doc:"whether webhooks may be addresses without TLS"`
	Keep  Duration `yaml:"keep" doc:"how long deliveries are shown that have arrived"`
}

func (w Webhooks) rules() (egress.Rules, error) {
	r := egress.Rules{HTTP: w.HTTP}
	for _, text := range w.Allow {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return r, fmt.Errorf("allow: %q is no network: write it like 10.1.0.0/16 or fd00:1::/32", text)
		}
		r.Allow = append(r.Allow, p.Masked())
	}
	return r, nil
}

// keepHost is how many idle connections a node keeps to one host: as many requests as two endpoints there get at a time.
const keepHost = 2 * webhook.Flight

// tellers are the node's webhooks.
type tellers struct {
	admin     *deliver.Admin
	deliverer *deliver.Deliverer
	builder   *payload.Builder
	simulated sync.Map // connection → whether it is told as simulated; once stored it never changes
}

func (a *App) buildWebhooks() error {
	rules, err := a.cfg.Webhooks.rules()
	if err != nil {
		return err
	}
	contents := outbound.NewContents(a.sealer)
	a.tell.builder = &payload.Builder{
		Simulated: a.toldSimulated,
		Metadata: func(ctx context.Context, id ident.Message, sealed []byte) (map[string]string, error) {
			return contents.Metadata(ctx, id, sealed, nil)
		},
	}
	secrets := deliver.Secrets{Sealer: a.sealer}
	poster := &deliver.Poster{Client: egress.NewClient(egress.Config{Rules: rules, KeepHost: keepHost, Timeout: deliver.PostTimeout}), Secrets: secrets}
	a.tell.admin = &deliver.Admin{Store: a.store, Secrets: secrets, Poster: poster, Rules: rules}
	a.tell.deliverer = deliver.New(deliver.Config{
		Store: a.store, Builder: a.tell.builder, Poster: poster, Keep: time.Duration(a.cfg.Webhooks.Keep), Log: a.log, Metrics: deliver.NewMetrics(a.metrics),
	})
	return nil
}

// told fixes for ever whether what a connection sends is told as simulated: what an endpoint is told again has the same
// bytes, also when another kind of connection has taken the name.
func (a *App) told(ctx context.Context, connection int64, simulated bool) (bool, error) {
	stored, err := a.store.EnsureMeta(ctx, "simulated."+strconv.FormatInt(connection, 10), strconv.FormatBool(simulated))
	if err == nil {
		a.tell.simulated.Store(connection, stored == "true")
	}
	return stored == "true", err
}

// toldSimulated says so of any connection, also of one that this node does not have.
func (a *App) toldSimulated(ctx context.Context, connection int64) (bool, error) {
	if known, ok := a.tell.simulated.Load(connection); ok {
		return known.(bool), nil
	}
	return a.told(ctx, connection, a.lines.simulated(connection))
}
