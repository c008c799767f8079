package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

func version(name string, n int, source string) store.PolicyVersion {
	return store.PolicyVersion{Name: name, Version: n, Source: []byte(source), By: "ben"}
}

// testPolicyVersions brings versions forth and back: each comes into force once at most, none is changed, and who
// brought it and when is kept.
//
// covers: D6, D14, X3
func testPolicyVersions(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	began, err := w.Now(ctx)
	must(t, err)
	w.put("test", 3, "v3")
	for name, c := range map[string]struct {
		p    store.PolicyVersion
		rule store.PolicyRule
		err  error
	}{
		"the same again":  {version("test", 3, "v3"), policy.Succeed, nil},
		"other content":   {version("test", 3, "other"), policy.Succeed, policy.ErrOtherContent},
		"back":            {version("test", 1, policySource), policy.Succeed, policy.ErrOlder},
		"never, and back": {version("test", 2, "v2"), policy.Succeed, policy.ErrOlder},
		"the built-in":    {version("builtin", 1, "b"), policy.SucceedBuiltin, nil},
	} {
		if changed, err := w.PutPolicy(ctx, c.p, c.rule); changed || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: %v, %v", name, changed, err)
		}
	}
	if _, err := w.Policy(ctx, "test", 2); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a refused version was stored: %v", err)
	}
	w.put("other", 1, "o1")
	head, err := w.PolicyHead(ctx)
	must(t, err)
	name, n, err := w.PolicyInForce(ctx)
	must(t, err)
	if head.ID() != "other@1" || string(head.Source) != "o1" || head.N != 3 || head.By != "ann" || head.At < began || name != "other" || n != 1 {
		t.Errorf("in force is %+v, %s@%d", head, name, n)
	}
	one, err := w.Policy(ctx, "test", 1)
	must(t, err)
	if string(one.Source) != policySource || one.N != 1 || one.At == 0 || one.At > began {
		t.Errorf("the first version is %+v", one)
	}
	w.inOrder("other@1", "test@3", "test@1")
}

// inOrder looks at the versions that were in force, the newest first.
func (w *world) inOrder(want ...string) {
	w.t.Helper()
	ctx := context.Background()
	all, err := w.PoliciesInForce(ctx, 100)
	must(w.t, err)
	first, err := w.ListPolicies(ctx, 0, 2)
	must(w.t, err)
	var rest []store.PolicyVersion
	if len(first) > 0 {
		rest, err = w.ListPolicies(ctx, first[len(first)-1].N, 100)
		must(w.t, err)
	}
	listed := append(first, rest...)
	if len(all) != len(want) || len(listed) != len(want) {
		w.t.Fatalf("%d versions with files and %d without, want %d", len(all), len(listed), len(want))
	}
	for i, id := range want {
		if all[i].ID() != id || listed[i].ID() != id || len(all[i].Source) == 0 || listed[i].Source != nil || listed[i].N != int64(len(want)-i) {
			w.t.Errorf("number %d is %+v and %+v, want %s", i, all[i], listed[i], id)
		}
	}
}

// testPolicyRacers brings many versions at once, on a store without any: those that come into force do so in the
// order of their numbers.
//
// covers: D6
func testPolicyRacers(t *testing.T, h Harness) {
	ctx, s := context.Background(), h.Open(t)
	const racers = 12
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			_, err := s.PutPolicy(ctx, version("test", i+1, fmt.Sprint("v", i+1)), policy.Succeed)
			if err != nil && !errors.Is(err, policy.ErrOlder) {
				t.Errorf("version %d: %v", i+1, err)
			}
		})
	}
	wg.Wait()
	all, err := s.PoliciesInForce(ctx, 100)
	must(t, err)
	head, err := s.PolicyHead(ctx)
	must(t, err)
	if head.Version != racers || len(all) == 0 || all[0].ID() != head.ID() {
		t.Errorf("in force is %d, the newest of the history %d", head.Version, all[0].Version)
	}
	for i := 1; i < len(all); i++ {
		if all[i].Version >= all[i-1].Version || all[i].N != all[i-1].N-1 || all[i].At > all[i-1].At {
			t.Errorf("%+v came before %+v", all[i], all[i-1])
		}
	}
}

// testPolicyUnderLoad changes the policy while nodes decide. Each decision is made under the policy that was in
// force at its moment, on every node, from the moment of the change on.
//
// covers: D6, X3
func testPolicyUnderLoad(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	const nodes, changes = 8, 6
	changed, decided := make(chan struct{}), make(chan struct{}, nodes)
	var wg sync.WaitGroup
	for node := range nodes {
		wg.Go(func() { w.decideUntil(changed, decided, node) })
	}
	for n := range changes {
		for range 3 * nodes {
			<-decided
		}
		w.advance(5 * time.Millisecond)
		_, err := w.PutPolicy(ctx, version("test", n+2, fmt.Sprint("v", n+2)), policy.Succeed)
		if err != nil {
			t.Errorf("version %d: %v", n+2, err)
		}
	}
	close(changed)
	wg.Wait()
	w.underWhatWasInForce()
}

// decideUntil decides new intents, as a node that learns of another policy only by being refused.
func (w *world) decideUntil(end, decided chan struct{}, node int) {
	ctx, id := context.Background(), "test@1"
	for i := 0; ; i++ {
		select {
		case <-end:
			return
		case decided <- struct{}{}:
		default:
		}
		sub := w.submission(ask{event: fmt.Sprintf("%d/%d", node, i), version: "1", to: node, policy: id})
		_, err := w.Decide(ctx, []store.Submission{sub}, intent.Decide)
		if errors.Is(err, store.ErrPolicyChanged) {
			name, n, err := w.PolicyInForce(ctx)
			if err != nil {
				w.t.Error(err)
				return
			}
			id = fmt.Sprintf("%s@%d", name, n)
		} else if err != nil {
			w.t.Error(err)
			return
		}
	}
}

func (w *world) underWhatWasInForce() {
	w.t.Helper()
	history, err := w.PoliciesInForce(context.Background(), 100)
	must(w.t, err)
	decisions, page := 0, store.Page{Limit: 200}
	for {
		all, err := w.Decisions(context.Background(), w.tenant, ident.Message{}, page)
		must(w.t, err)
		for _, d := range all {
			if !inForceAt(history, d) {
				w.t.Fatalf("a decision of %d was made under %s; in force were %+v", d.At, d.PolicyID, history)
			}
		}
		decisions += len(all)
		if len(all) < page.Limit {
			break
		}
		page.At, page.ID = all[len(all)-1].At, all[len(all)-1].ID
	}
	if decisions == 0 {
		w.t.Error("nothing was decided")
	}
}

// inForceAt reports whether a decision was made under the policy that was in force at its moment; in the very moment
// of a change it may be either.
func inForceAt(newestFirst []store.PolicyVersion, d *store.Decision) bool {
	for _, p := range newestFirst {
		if p.At <= d.At && p.ID() == d.PolicyID {
			return true
		}
		if p.At < d.At {
			return false
		}
	}
	return false
}
