// Package outbound takes what applications want sent: it checks a request, maps it to an intent, has it decided
// together with what arrived at the same time, and answers with the decision and the message.
//
// Everything that can be done without a lock is done before: parsing, keys, fingerprints, sealing, the flow.
// What remains is one transaction for a batch, in which the store runs intent.Decide.
package outbound

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/phone"
	"github.com/einmal/einmal/internal/domain/request"
	"github.com/einmal/einmal/internal/domain/route"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/batch"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
)

// Submission is a request as it came, read but not judged.
type Submission struct {
	Tenant ident.Partition
	Caller string // the API key's id, for the audit
	// CallerName is the API key's name, and Header what came with the request, by canonical names: rules of the
	// policy may look at them.
	CallerName string
	Header     map[string][]string
	Operation  string // what idempotency keys are scoped to, beside the tenant (D8)
	// IdempotencyKey is the client's; "" if it sent none.
	IdempotencyKey string
	// Canonical is the canonical JSON of each member of the body as sent, for the fingerprint of a retry (D8).
	Canonical map[string][]byte

	request.Members
	DryRun   bool
	Simulate bool // it must not reach a phone: the caller's key is one for tests
	Team     bool // it may reach the tenant's own people alone: the caller's key is one for the team
	// Guards are what is known against the request, or for it, from what it came with, such as its API key.
	Guards []intent.Guard

	served string // the purpose under which it was decided, for logs and metrics
	turn   turn   // among those that came with it
}

// Answer is what a request gets that is not refused with a fault.
type Answer struct {
	intent.Result
	Replayed  bool // the answer that the first request with this idempotency key got
	DryRun    bool // nothing was reserved, the ids stand for nothing
	Simulated bool // the connection is a simulator
	// Encoding and Parts are those of the request's text; nothing where an older release has not said.
	Encoding  Encoding
	Parts     int
	UnitsLeft int // in a dry run: septets, or units of UTF-16, that the last part has room for

	Unanswered intent.Key // held until somebody says that this answer got out; zero: nothing waits for that
}

// Store is the part of the store that is needed.
type Store interface {
	store.Decider
	store.Settler
	Message(ctx context.Context, tenant ident.Partition, id ident.Message) (*store.Message, error)
	EnsureFlow(ctx context.Context, spec store.FlowSpec) (int64, error)
	PutPolicy(ctx context.Context, p store.PolicyVersion, rule store.PolicyRule) (changed bool, err error)
	PolicyHead(ctx context.Context) (store.PolicyVersion, error)
	PolicyInForce(ctx context.Context) (name string, version int, err error)
	Policy(ctx context.Context, name string, version int) (store.PolicyVersion, error)
	PoliciesInForce(ctx context.Context, limit int) ([]store.PolicyVersion, error)
	EnsureMeta(ctx context.Context, name, value string) (string, error)
}

// Connection is where messages are sent.
type Connection struct {
	ID   int64 // immutable number (Registry.EnsureConnection)
	Long Long
	// ReceiptTime is how long after a message's validity receipts of it may come; 0: evidence.ReceiptTime.
	ReceiptTime time.Duration
}

// Config is what a service works with.
type Config struct {
	Store    Store
	Identity *secret.Identity
	Sealer   *secret.Sealer
	Clock    clock.Clock         // chooses the day of a sealing key, and nothing else
	Policy   store.PolicyVersion // what this node brings: the built-in policy, or a file
	// Route chooses where a message is sent. Its error is a fault, and refuses what is not decided yet.
	Route func(context.Context, route.Question) (Connection, error)
	// Simulated says whether a message that exists is a simulator's, by the number of its connection.
	Simulated func(connection int64) bool
	Sender    string // of requests that name none; "": they must name one
	// Senders are those that are registered for a tenant, its default one first; limited says that it sends under no
	// others. Nil: every tenant sends under any.
	Senders func(of ident.Partition) (registered []string, limited bool)
	// RefuseUnassigned refuses destinations of ranges that their country has not given out, as far as this release
	// knows. Accepting them is the default: number plans grow faster than their descriptions.
	RefuseUnassigned bool
	// Prices are what a part to a number costs a tenant, by when; none: there is no price for it. Nil: nobody pays.
	Prices func(of ident.Partition, e164 string) wallet.Offer
	// Guards are rules beside deduplication that are asked of every request, before the store is.
	Guards  []Guard
	Batch   batch.Config
	Wake    func() // called after messages were made or changed; must not block
	Log     *slog.Logger
	Metrics prometheus.Registerer // nil: nowhere
}

// Guard says what one rule makes of a request; false: it is not about such requests.
type Guard func(sub *Submission, r *intent.Request) (intent.Guard, bool)

// Service takes requests. Safe for concurrent use.
type Service struct {
	cfg      Config
	contents *Contents
	policies *policies
	flows    *flows
	answers  answers
	writers  *writers
	metrics  *metrics
}

// New returns a service. Start makes it ready, Close ends it.
func New(cfg Config) *Service {
	s := &Service{
		cfg: cfg, contents: NewContents(cfg.Sealer),
		policies: &policies{store: cfg.Store}, flows: newFlows(cfg.Store),
	}
	s.answers.store, s.answers.log = cfg.Store, cfg.Log
	s.writers = newWriters(cfg.Batch, s.decide)
	s.metrics = newMetrics(cfg.Metrics, s.writers.waiting)
	return s
}

// Start checks that the store knows this identity key, stores this node's policy and reads the one in force.
func (s *Service) Start(ctx context.Context) error {
	if s.cfg.Sender != "" {
		sender, err := phone.ParseSender(s.cfg.Sender)
		if err != nil {
			return fmt.Errorf("the default sender: %w", err)
		}
		s.cfg.Sender = sender.String()
	}
	if err := s.checkIdentity(ctx); err != nil {
		return err
	}
	if err := s.bringPolicy(ctx); err != nil {
		return fmt.Errorf("the policy %s: %w", s.cfg.Policy.ID(), err)
	}
	_, err := s.policies.inForce(ctx)
	return err
}

// checkIdentity refuses to work with another identity key than the store's: every register would look empty,
// and everything would be sent again.
func (s *Service) checkIdentity(ctx context.Context) error {
	mine := s.cfg.Identity.Check()
	known, err := s.cfg.Store.EnsureMeta(ctx, "identity_check", mine)
	if err != nil {
		return fmt.Errorf("read the check value of the identity key: %w", err)
	}
	if known != mine {
		return fmt.Errorf("this store was made with another identity key (check value %s, this one's is %s): "+
			"bring back the %s that belongs to it; with another key it would send again what it has sent",
			known, mine, secret.IdentityFile)
	}
	return nil
}

// Close refuses new requests, finishes those that wait for their decision, and returns.
func (s *Service) Close() {
	s.writers.close()
	s.answers.close()
}
