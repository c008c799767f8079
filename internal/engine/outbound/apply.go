package outbound

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/domain/trial"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// bringPolicy brings what this node was started with. A file that is older than the policy in force is told of and
// keeps no node from starting: others may have been given a newer one while this node was down.
func (s *Service) bringPolicy(ctx context.Context) error {
	rule := tested(s.cfg.Policy.ID())
	if s.cfg.Policy.Name == policy.Builtin().Name {
		rule = policy.SucceedBuiltin
	}
	changed, err := s.cfg.Store.PutPolicy(ctx, s.cfg.Policy, rule)
	switch {
	case errors.Is(err, policy.ErrOlder):
		s.cfg.Log.LogAttrs(ctx, slog.LevelWarn, "the policy that this node was started with is not used: another version is in force",
			slog.String("brought", s.cfg.Policy.ID()), slog.Any("why", err))
		return nil
	case err == nil && changed:
		s.tellPolicy(ctx, s.cfg.Policy)
	}
	return err
}

// tested is policy.Succeed for a file that passes its own tests. They run only if the version would come into force:
// one that is in force already keeps nobody from starting.
func tested(file string) store.PolicyRule {
	return func(v policy.Version, k policy.Known) (bool, error) {
		changes, err := policy.Succeed(v, k)
		if err != nil || !changes {
			return changes, err
		}
		parsed, wrong := policy.Parse(file, v.Source)
		if wrong != nil {
			return false, wrongFile(wrong)
		}
		return true, failedTests(trial.Failures(trial.Run(parsed)))
	}
}

// failedTests refuses a file that says itself that it is wrong.
func failedTests(failures []string) error {
	if len(failures) == 0 {
		return nil
	}
	f := fault.Wrap(errors.New(strings.Join(failures, "\n")), fault.Invalid,
		"expectations of the policy file that do not come out as they say: %d; nothing was changed", len(failures))
	for _, line := range failures[:min(len(failures), maxFailures)] {
		f.Fields = append(f.Fields, fault.Field{Pointer: "#/source", Detail: line})
	}
	return f
}

// maxFailures is how many failed tests are told; policy test shows all.
const maxFailures = 20

func (s *Service) tellPolicy(ctx context.Context, p store.PolicyVersion) {
	s.cfg.Log.LogAttrs(ctx, slog.LevelInfo, "a policy came into force", slog.String("policy", p.ID()), slog.String("by", p.By))
}

// ApplyPolicy brings a policy file into force, for all nodes at once, and returns the version and whether that
// changed anything. file is its name in errors, by who brings it. Errors are faults: Invalid with all wrong places of
// the file, State for a version that cannot follow what was in force.
func (s *Service) ApplyPolicy(ctx context.Context, file string, source []byte, by string) (store.PolicyVersion, bool, error) {
	parsed, wrong := policy.Parse(file, source)
	if wrong != nil {
		return store.PolicyVersion{}, false, wrongFile(wrong)
	}
	p := store.PolicyVersion{Name: parsed.Name, Version: parsed.Version, Source: source, By: by}
	if p.Name == policy.Builtin().Name {
		return p, false, fault.New(fault.State, "%s is the name of the gateway's own policy: give yours another name", p.Name)
	}
	changed, err := s.cfg.Store.PutPolicy(ctx, p, tested(file))
	if err != nil {
		return p, false, publicFault(err)
	}
	if changed {
		s.tellPolicy(ctx, p)
	}
	if now := s.policies.current.Load(); now != nil && now.ID() != p.ID() {
		_, err = s.policies.refresh(ctx, now) // others learn of it by their next request
	}
	if err != nil {
		return p, changed, publicFault(err)
	}
	stored, err := s.cfg.Store.Policy(ctx, p.Name, p.Version)
	return stored, changed, err
}

// wrongFile tells every wrong place of a file. Unlike other faults it repeats words of the file: it is the operator's
// own, and says what to change.
func wrongFile(wrong policy.Errors) error {
	f := fault.Wrap(wrong, fault.Invalid, "wrong places in the policy file: %d; nothing was changed", len(wrong))
	for _, e := range wrong {
		f.Fields = append(f.Fields, fault.Field{Pointer: "#/source", Detail: fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)})
	}
	return f
}

// PolicyInForce names the policy under which requests are decided, as far as this node knows; "" before Start.
func (s *Service) PolicyInForce() string {
	if p := s.policies.current.Load(); p != nil {
		return p.ID()
	}
	return ""
}
