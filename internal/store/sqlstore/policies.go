package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

var (
	readInForce = define(`select name, version from policy_head where id = 1`)
	moveHead    = define(`insert into policy_head (id, name, version) select 1, {1}, {2} where true
		on conflict (id) do update set name = excluded.name, version = excluded.version`)
	newestOf   = define(`select coalesce(max(version), 0) from policy where name = {1} and n > 0`)
	readSource = define(`select source from policy where name = {1} and version = {2}`)
	// A version that was stored and was never in force may come into force later.
	storePolicy = define(`insert into policy (name, version, source, n, at, made_by)
		select {1}, {2}, {3}, coalesce(max(n), 0) + 1, {4}, {5} from policy where n > 0
		on conflict (name, version) do update set n = excluded.n, at = excluded.at, made_by = excluded.made_by`)
)

// PutPolicy implements store.Policies.
func (s *Store) PutPolicy(ctx context.Context, p store.PolicyVersion, rule store.PolicyRule) (changed bool, err error) {
	err = s.once(ctx, func(t *tx) (err error) {
		changed, err = t.putPolicy(p, rule)
		return err
	})
	if changed && err == nil {
		chaos.At(chaos.PolicyCommitted)
	}
	return changed, err
}

// putPolicy asks the rule twice: first without a lock, since a node that starts and changes nothing must not wait for
// decisions under way, one of which may be that of a node that hangs.
func (t *tx) putPolicy(p store.PolicyVersion, rule store.PolicyRule) (bool, error) {
	v := policy.Version{Name: p.Name, Version: p.Version, Source: p.Source}
	for _, lock := range []func() error{func() error { return nil }, t.lockHead} {
		if err := lock(); err != nil {
			return false, err
		}
		known, err := t.knownPolicy(v)
		if err != nil {
			return false, err
		}
		if changes, err := rule(v, known); err != nil || !changes {
			return false, err
		}
	}
	now, err := t.now(t.ctx)
	if err != nil {
		return false, err
	}
	if _, err := t.exec(t.ctx, storePolicy, nil, p.Name, p.Version, p.Source, int64(now), p.By); err != nil {
		return false, err
	}
	_, err = t.exec(t.ctx, moveHead, nil, p.Name, p.Version)
	chaos.At(chaos.PolicyWritten)
	return true, err
}

func (t *tx) lockHead() error {
	if t.s.d.LockHead == "" {
		return nil
	}
	_, err := t.e.ExecContext(t.ctx, t.s.d.LockHead)
	return err
}

// knownPolicy reads what the rule has to know.
func (t *tx) knownPolicy(v policy.Version) (k policy.Known, err error) {
	err = t.row(t.ctx, readInForce, nil, scan1(&k.Head.Name, &k.Head.Version))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return k, err
	}
	if err := t.row(t.ctx, newestOf, nil, scan1(&k.Newest), v.Name); err != nil {
		return k, err
	}
	err = t.row(t.ctx, readSource, nil, scan1(&k.Stored), v.Name, v.Version)
	if errors.Is(err, sql.ErrNoRows) {
		return k, nil
	}
	k.Stored = some(k.Stored)
	return k, err
}

var errNoPolicy = fault.New(fault.NotFound, "no policy is in force: start the gateway once, it stores its own")

// PolicyInForce implements store.Policies.
func (s *Store) PolicyInForce(ctx context.Context) (name string, version int, err error) {
	err = s.read().row(ctx, readInForce, nil, scan1(&name, &version))
	if errors.Is(err, sql.ErrNoRows) {
		return "", 0, errNoPolicy
	}
	return name, version, unavailable(err)
}

const policyColumns = `p.name, p.version, p.n, p.at, p.made_by`

var (
	readHead = define(`select ` + policyColumns + `, p.source from policy_head h join policy p on p.name = h.name and p.version = h.version where h.id = 1`)
	readOne  = define(`select ` + policyColumns + `, p.source from policy p where p.name = {1} and p.version = {2}`)
	listOld  = define(`select ` + policyColumns + `, p.source from policy p where p.n > 0 order by p.n desc limit {1}`)
	listAll  = define(`select ` + policyColumns + ` from policy p where p.n > 0 and p.n < {1} order by p.n desc limit {2}`)
)

// PolicyHead implements store.Policies.
func (s *Store) PolicyHead(ctx context.Context) (store.PolicyVersion, error) {
	return s.onePolicy(ctx, errNoPolicy, readHead)
}

// Policy implements store.Policies.
func (s *Store) Policy(ctx context.Context, name string, version int) (store.PolicyVersion, error) {
	return s.onePolicy(ctx, notFound("policy version"), readOne, name, version)
}

func (s *Store) onePolicy(ctx context.Context, none error, q *template, args ...any) (store.PolicyVersion, error) {
	all, err := s.listPolicies(ctx, q, true, args...)
	if err == nil && len(all) == 0 {
		return store.PolicyVersion{}, none
	}
	if err != nil {
		return store.PolicyVersion{}, err
	}
	return all[0], nil
}

// PoliciesInForce implements store.Policies.
func (s *Store) PoliciesInForce(ctx context.Context, limit int) ([]store.PolicyVersion, error) {
	return s.listPolicies(ctx, listOld, true, limit)
}

// ListPolicies implements store.Policies.
func (s *Store) ListPolicies(ctx context.Context, before int64, limit int) ([]store.PolicyVersion, error) {
	if before == 0 {
		before = 1<<63 - 1
	}
	return s.listPolicies(ctx, listAll, false, before, limit)
}

func (s *Store) listPolicies(ctx context.Context, q *template, sources bool, args ...any) ([]store.PolicyVersion, error) {
	var all []store.PolicyVersion
	err := s.read().query(ctx, q, nil, func(res *sql.Rows) error {
		var (
			p  store.PolicyVersion
			at int64
		)
		dest := []any{&p.Name, &p.Version, &p.N, &at, &p.By}
		if sources {
			dest = append(dest, &p.Source)
		}
		err := res.Scan(dest...)
		p.At = clock.Micros(at)
		all = append(all, p)
		return err
	}, args...)
	return all, unavailable(err)
}
