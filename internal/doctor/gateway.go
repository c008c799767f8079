package doctor

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// gateway is what one that runs says of itself, without a key.
type gateway struct {
	ready   string // "": it is
	metrics map[string]float64
}

// sample is a line of the metrics.
var sample = regexp.MustCompile(`^(einmal_[a-z_]+(?:\{[^}]*\})?) ([0-9.eE+-]+)$`)

// askGateway asks the one that listens on the configured address, if there is one.
func (e *examination) askGateway(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	base := e.base()
	status, body, err := get(ctx, base+"/readyz")
	if err != nil || status != http.StatusOK && status != http.StatusServiceUnavailable {
		switch t := e.cfg.Listen.TLS; {
		case e.running && t.ClientCA != "" && t.ClientCert != "optional":
			e.say("gateway", Warn, "let listen.tls.client_cert be optional, where probes and this command are to be answered", "the gateway at %s answers nobody without a client certificate: what it knows was not looked at", base)
		case e.running:
			e.say("gateway", Warn, "give the flags and variables that the gateway was started with", "a gateway works on the data folder, and does not answer at %s: what it knows was not looked at", base)
		}
		return
	}
	e.gateway = &gateway{metrics: map[string]float64{}}
	if status != http.StatusOK {
		e.gateway.ready = detailOf(body)
		e.say("gateway", Fail, "do what it says", "the gateway at %s is not ready: %s", base, e.gateway.ready)
	} else {
		e.ok("gateway", "it is ready at %s", base)
	}
	if _, text, err := get(ctx, base+"/metrics"); err == nil {
		for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
			if m := sample.FindStringSubmatch(lines.Text()); m != nil {
				if v, err := strconv.ParseFloat(m[2], 64); err == nil {
					e.gateway.metrics[m[1]] = v
				}
			}
		}
	}
}

// base is where a gateway of this configuration is reached from this machine.
func (e *examination) base() string {
	scheme := "http://"
	if e.cfg.Listen.TLS.Cert != "" {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(e.cfg.Listen.HTTP)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return scheme + net.JoinHostPort("127.0.0.1", port)
	}
	return scheme + e.cfg.Listen.HTTP
}

// client asks what is on this machine. Nothing secret is sent, and certificates are looked at elsewhere.
var client = &http.Client{Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, // see above
}}

func get(ctx context.Context, url string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }() // it was read
	b, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	return res.StatusCode, string(b), err
}

var detail = regexp.MustCompile(`"detail":"([^"\\]*)"`)

func detailOf(problem string) string {
	if m := detail.FindStringSubmatch(problem); m != nil {
		return m[1]
	}
	return "it does not say why"
}

// address looks at where the gateway listens, or would.
func (e *examination) address(ctx context.Context) {
	at := e.cfg.Listen.HTTP
	if e.cfg.Listen.InClear() {
		e.say("listen", Warn, "set listen.tls, or put something before it that speaks TLS", "requests to %s carry their keys in clear text", at)
	}
	switch {
	case e.gateway != nil:
		e.ok("listen", "the gateway listens on %s", at)
		return
	case e.running:
		return // what it listens on is its own, and was said
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at)
	if err != nil {
		e.say("listen", Fail, "end what uses it, or choose another with --listen", "nothing that is a gateway answers at %s, and it cannot be listened on: %s", at, oneLine(err))
		return
	}
	if err := l.Close(); err == nil {
		e.ok("listen", "%s is free; no gateway runs there", at)
	}
}

// metric reads a sample of the gateway that runs.
func (g *gateway) metric(format string, args ...any) (float64, bool) {
	v, ok := g.metrics[fmt.Sprintf(format, args...)]
	return v, ok
}
