// Package api is the REST interface: HTTP in, a flow of the engine or a question to the store, JSON out.
//
// The tenant comes from the API key alone and goes into every call below. Errors are problem documents, made
// from faults by one table, and never repeat a value of the request. /openapi.json describes all of it.
package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/einmal/einmal/internal/engine/relay/payload"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/provider"
)

// Config is what the API works with. All of it must be there.
type Config struct {
	Store    Store
	Outbound Outbound
	Watch    Watch
	Contents Contents
	Restore  Restore
	// Held says that the store went back in time and waits for its release. It asks nobody.
	Held        func() bool
	Resolver    Resolver
	Connections Connections
	Identity    *secret.Identity
	// Certificates are the clients' that stand for keys; nil: there are none.
	Certificates Certificates
	Clock        clock.Clock // ages looked-up keys, and nothing else
	Webhooks     Webhooks
	// Feed builds what is told of events.
	Feed *payload.Builder
	// Delivering says that something may be due for an endpoint.
	Delivering func()
	// Ready says what keeps the gateway from working; the text of a fault is shown to whoever asks.
	Ready func(context.Context) error
	// Simulated says that messages of a connection go to a simulator; everything that is shown says so, too.
	Simulated func(connection int64) bool
	// DeliveredMeans is what is declared of the word "delivered" on a connection.
	DeliveredMeans func(connection int64) string
	// Phones are the handsets of simulated carriers; nil: there is none. They are shown to keys of the tenant
	// Installation alone.
	Phones       func() provider.Phones
	Installation ident.Partition
	// Changed is called after something was administered through this node, and puts it in force here.
	Changed func(context.Context)
	Metrics *telemetry.Metrics
	Log     *slog.Logger
}

// API serves HTTP. Safe for concurrent use.
type API struct {
	cfg      Config
	mux      *http.ServeMux
	huma     huma.API
	keyring  *keyring
	requests *requestMetrics
	routes   []Route
	waiting  waiting
}

// Route is one operation of the API.
type Route struct {
	Method, Path string
	Scope        Scope // "": no key is asked for
}

// New returns the API.
func New(c Config) *API {
	huma.NewError = frameworkError // process-wide, always the same
	a := &API{
		cfg: c, mux: http.NewServeMux(), keyring: newKeyring(c),
		requests: newRequestMetrics(c.Metrics), waiting: newWaiting(),
	}
	a.huma = humago.New(a.mux, description())
	a.register()
	a.describeFaults()
	a.openAnswers()
	return a
}

// Routes lists the operations.
func (a *API) Routes() []Route { return a.routes }

// OpenAPI is the API's description.
func (a *API) OpenAPI() *huma.OpenAPI { return a.huma.OpenAPI() }

// ServeHTTP serves one request. A panic answers 500 and is logged without its value, which may hold anything.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	seen := &seenStatus{ResponseWriter: w}
	defer func() {
		if v := recover(); v != nil {
			if v == http.ErrAbortHandler {
				panic(v)
			}
			a.cfg.Log.Error("a request ended in a panic", "route", r.Pattern, "kind", panicKind(v))
			if seen.status == 0 {
				writeProblem(seen, &fault.Fault{Code: fault.Internal})
			}
		}
		a.requests.count(r.Pattern, seen.status)
	}()
	h := w.Header()
	h["X-Content-Type-Options"], h["Cache-Control"] = noSniff, noStore
	a.mux.ServeHTTP(seen, r)
}

var (
	noSniff = []string{"nosniff"}
	noStore = []string{"no-store"}
)

// panicKind is the value's type and never its words: an error such as strconv.NumError quotes its input.
func panicKind(v any) string { return fmt.Sprintf("%T", v) }

// seenStatus remembers the status that was sent.
type seenStatus struct {
	http.ResponseWriter
	status int
}

func (s *seenStatus) WriteHeader(status int) {
	if s.status == 0 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *seenStatus) Write(b []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	return s.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController what it asks for.
func (s *seenStatus) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// report logs defects. Whatever else is wrong is the client's to know.
func (a *API) report(pattern string, err error) {
	if fault.CodeOf(err) == fault.Internal {
		a.cfg.Log.Error("a request failed", "route", pattern, "error", err)
	}
}

// Server timeouts: a client that sends or reads so slowly holds nothing but its own connection, and not for ever.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 16 << 10
)

// NewServer returns a server with limits in place. It listens nowhere yet.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
