package outbound

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/batch"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// maxTries is how often a request is prepared again because the policy in force has changed meanwhile. Policies
// change by a person's hand: a second time is rare, a fifth one a fault somewhere.
const maxTries = 5

// retryAfter is what a client is told that comes when the queue is full or the store cannot be reached.
const retryAfter = time.Second

// Submit decides a request. When it returns without an error the decision is durable, unless it was a dry run.
// Errors are faults: Invalid with all wrong fields, IdempotencyMismatch with the members that differ,
// InProgress, and Unavailable, after which the same request may be sent again with the same idempotency key.
func (s *Service) Submit(ctx context.Context, sub Submission) (Answer, error) {
	answer, err := s.submit(ctx, &sub)
	s.metrics.count(&sub, answer, err)
	if err == nil && !answer.DryRun {
		s.cfg.Log.LogAttrs(ctx, slog.LevelDebug, "decided",
			slog.Any("decision", answer.Decision.ID), slog.Any("message", answer.Decision.Message.ID),
			slog.String("action", answer.Decision.Action.String()), slog.String("reason", string(answer.Decision.Reason)),
			slog.String("purpose", sub.served), slog.Bool("replayed", answer.Replayed))
	}
	return answer, err
}

func (s *Service) submit(ctx context.Context, sub *Submission) (Answer, error) {
	made := sub.turn.made
	if made.message.IsZero() {
		made = newIDs(sub.Tenant)
	}
	p, err := s.policies.inForce(ctx)
	for tries := 0; err == nil && tries < maxTries; tries++ {
		answer, tried := s.try(ctx, sub, p, made)
		if !errors.Is(tried, store.ErrPolicyChanged) {
			return answer, publicFault(tried)
		}
		p, err = s.policies.refresh(ctx, p)
	}
	if err != nil {
		return Answer{}, publicFault(err)
	}
	return Answer{}, fault.New(fault.Unavailable, "the policy in force is being changed; nothing was reserved").After(retryAfter)
}

// try decides under one policy.
func (s *Service) try(ctx context.Context, sub *Submission, p *inForce, made ids) (Answer, error) {
	c, invalid := s.check(ctx, sub, p.Policy)
	if (invalid != nil || sub.DryRun) && s.policies.changed(ctx, p) {
		return Answer{}, store.ErrPolicyChanged
	}
	switch {
	case invalid != nil:
		return s.recall(ctx, sub, p, made, invalid)
	case sub.DryRun:
		return s.preview(ctx, sub, c, s.request(sub, c, p, made))
	}
	sub.served = c.Purpose.Name
	out, err := s.prepare(ctx, sub, c, s.request(sub, c, p, made))
	if err != nil {
		return Answer{}, err
	}
	return s.queued(ctx, sub, out)
}

// recall looks whether a request that is invalid now was answered before under its idempotency key: neither a
// new release nor a new policy turns a retry into an error (D8). It reserves nothing.
func (s *Service) recall(ctx context.Context, sub *Submission, p *inForce, made ids, invalid error) (Answer, error) {
	if sub.IdempotencyKey == "" || sub.DryRun {
		return Answer{}, invalid
	}
	question := &intent.Request{
		Decision: made.decision, Message: made.message, Tenant: sub.Tenant, PolicyID: p.ID(),
		Idempotency: s.idempotency(sub),
	}
	question.Keys.Intent = intent.Key(made.message) // nobody else's: it makes nobody wait
	answer, err := s.queued(ctx, sub, store.Submission{Request: question, Caller: sub.Caller})
	if err == nil && answer.Kind == 0 {
		return Answer{}, invalid
	}
	return answer, err
}

// preview decides without reserving anything.
func (s *Service) preview(ctx context.Context, sub *Submission, c *checked, r *intent.Request) (Answer, error) {
	res, err := s.cfg.Store.Preview(ctx, store.Submission{Request: r, Caller: sub.Caller}, intent.Decide)
	if err != nil {
		return Answer{}, err
	}
	answer := s.answer(r, res)
	answer.DryRun, answer.UnitsLeft = true, c.text.left
	return answer, nil
}

// queued has a request decided with whatever else arrives.
func (s *Service) queued(ctx context.Context, sub *Submission, out store.Submission) (Answer, error) {
	decided, err := s.writers.do(ctx, out, sub.turn)
	if err == nil {
		err = decided.Err
	}
	if err != nil {
		return Answer{}, err
	}
	switch decided.Kind {
	case intent.Mismatched:
		return Answer{}, mismatch(decided.Differing)
	case intent.Stormed:
		return Answer{}, storm(decided.Result)
	}
	answer := s.answer(out.Request, decided.Result)
	if answer.Decision.Action == intent.Refused {
		return answer, nil // it names no message, and holds no key
	}
	answer.Unanswered = out.Keys.Unanswered // whatever was decided: an answer that gets out names the message
	return answer, nil
}

// decide is one batch. It runs on a context of its own: a caller that goes away takes nothing back.
func (s *Service) decide(batch []store.Submission) ([]store.Decided, error) {
	s.answers.before(batch)
	decided, err := s.cfg.Store.Decide(context.Background(), batch, fold)
	if err != nil {
		return nil, err
	}
	chaos.At(chaos.DecideCommitted)
	if s.cfg.Wake != nil && slices.ContainsFunc(decided, allowed) {
		s.cfg.Wake()
	}
	return decided, nil
}

// fold is intent.Decide, and intent.Recall for a request that is a question about its idempotency key alone.
func fold(r *intent.Request, f *intent.Facts) intent.Result {
	if r.Purpose.Name == "" {
		res, _ := intent.Recall(r, f)
		return res
	}
	return intent.Decide(r, f)
}

func allowed(d store.Decided) bool {
	return d.Err == nil && d.Kind == intent.Decided && d.Decision.Action == intent.Allow
}

// answer is what is said of a decision.
func (s *Service) answer(r *intent.Request, res intent.Result) Answer {
	connection := cmp.Or(res.Decision.Message.Connection, r.Connection) // a refusal names no message
	return Answer{
		Result: res, Replayed: res.Kind == intent.Replayed, Simulated: s.cfg.Simulated(connection),
		Parts: res.Decision.Text.Parts, Encoding: EncodingOf(res.Decision.Text),
	}
}

// storm refuses a repeat too many, and still names the message that is the answer to all of them (D7).
func storm(res intent.Result) error {
	f := fault.New(fault.Storm, "the same message was asked for more than %d times within a minute; it exists, and asking again changes nothing", intent.StormAbove)
	f.About = res.Decision.Message.ID.String()
	return f.After(res.RetryAfter)
}

func mismatch(differing []string) error {
	f := fault.New(fault.IdempotencyMismatch, "another request was made with this idempotency key; choose a new key for a new request")
	for _, member := range differing {
		f.Fields = append(f.Fields, fault.Field{Pointer: "#/" + member, Detail: "differs from the request that was made with this key"})
	}
	return f
}

// publicFault turns what the queue says into faults, and gives every Unavailable a time to come back.
func publicFault(err error) error {
	var f *fault.Fault
	switch {
	case err == nil:
		return nil
	case errors.Is(err, batch.ErrFull):
		return fault.Wrap(err, fault.Unavailable, "more requests are waiting than can be decided soon; nothing was reserved").After(retryAfter)
	case errors.Is(err, batch.ErrClosed):
		return fault.Wrap(err, fault.Unavailable, "this node is shutting down; nothing was reserved").After(retryAfter)
	case errors.As(err, &f):
		if f.Code != fault.Unavailable || f.RetryAfter > 0 {
			return err
		}
		own := *f // the fault of a batch is shared by its callers
		return own.After(retryAfter)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Unavailable, "the request ended before it was decided; nothing was reserved").After(retryAfter)
	}
	return fault.Wrap(err, fault.Internal, "a defect of the gateway; the request may be sent again with the same idempotency key")
}
