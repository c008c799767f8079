package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// loopback lets a gateway tell an endpoint of this process.
func loopback() members { return members{"allow": []string{"127.0.0.0/8"}, "http": true} }

// customer is a prepaid tenant of a gateway, with an endpoint that is told of its messages.
type customer struct {
	load     *load // with its key
	endpoint *endpoint
}

// newCustomer makes a tenant that may spend what it likes, and its endpoint.
func newCustomer(ctx context.Context, operator *load) (*customer, error) {
	e, err := newEndpoint()
	if err != nil {
		return nil, err
	}
	c := &customer{endpoint: e}
	var key struct {
		Key string `json:"key"`
	}
	steps := []struct {
		method, path, body string
		answer             any
	}{
		{"POST", "/v1/tenants", `{"name":"bench"}`, nil},
		{"POST", "/v1/tenants/bench/senders", `{"sender":"SHOP"}`, nil},
		{"PUT", "/v1/prices", `{"data":[{"prefix":"","micro_usd":10000}]}`, nil},
		{"POST", "/v1/tenants/bench/topups", `{"amount_micro_usd":100000000000,"reference":"bench","reason":"a measurement"}`, nil},
		{"POST", "/v1/tenants/bench/limit", `{"lift":true,"by":"bench","reason":"a measurement"}`, nil},
		{"POST", "/v1/tenants/bench/keys", `{"name":"bench","scopes":["send","read","admin"]}`, &key},
	}
	for _, s := range steps {
		if err := operator.ask(ctx, s.method, s.path, s.body, s.answer); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	c.load = newLoad(operator.url, key.Key)
	hook := fmt.Sprintf(`{"url":%q,"types":["message.*"]}`, e.url)
	if err := c.load.ask(ctx, "POST", "/v1/webhooks", hook, nil); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close ends the endpoint.
func (c *customer) Close() error {
	c.load.Close()
	return c.endpoint.Close()
}

// endpoint is a tenant's: it takes whatever it is told, and counts.
type endpoint struct {
	server    *http.Server
	url       string
	told      atomic.Int64 // requests
	delivered atomic.Int64 // messages of which it was told that they were delivered
	seen      sync.Map     // ids of those events: one may be told twice
}

func newEndpoint() (*endpoint, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &endpoint{url: "http://" + l.Addr().String() + "/hooks"}
	e.server = &http.Server{Handler: e}
	go func() { _ = e.server.Serve(l) }() // it ends with Close
	return e, nil
}

// Close ends it.
func (e *endpoint) Close() error { return e.server.Close() }

// ServeHTTP takes what it is told.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var said struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(&said); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	e.told.Add(1)
	if said.Type == "message.delivered" {
		if _, again := e.seen.LoadOrStore(said.ID, true); !again {
			e.delivered.Add(1)
		}
	}
	w.WriteHeader(http.StatusNoContent)
}
