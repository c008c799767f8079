package intent

import (
	"cmp"
	"slices"
)

// GuardKind is what a rule beside deduplication is about (D4). The spellings are stored and public; a refusal's kind is
// also the code of its problem document.
type GuardKind string

// The kinds of this release.
const (
	GuardTeam  GuardKind = "team"  // the API key reaches the team's own numbers alone
	GuardLimit GuardKind = "limit" // more than a tenant may spend before somebody has looked at it
	GuardFunds GuardKind = "funds" // it cannot be paid
)

// precedence is the order in which guards are asked; the first that refuses is the answer. All of them come after
// replay and duplicate, so that a repeat is answered with its message and uses up nothing.
var precedence = []GuardKind{GuardTeam, GuardLimit, GuardFunds}

// GuardResult is what a guard says.
type GuardResult string

// The results. The spellings are stored and public.
const (
	GuardPass   GuardResult = "pass"
	GuardRefuse GuardResult = "refuse"
)

// Guard is what one rule beside deduplication says of a request.
type Guard struct {
	Rule   string // such as "key.team"
	Kind   GuardKind
	Result GuardResult
	// Words say what is wrong and what would be right, in whole sentences; of a refusal alone. They are not stored by
	// themselves: the decision's explanation has them.
	Words string
}

// judge asks the guards of a request in their order. What comes after one that refuses is not asked. Nil: none refuses.
func (r *Request) judge(f *Facts) (asked []Guard, refusal *Guard) {
	said := slices.Concat(r.Guards, r.moneyGuards(f))
	if len(said) == 0 {
		return nil, nil
	}
	all := slices.SortedStableFunc(slices.Values(said), func(a, b Guard) int {
		return cmp.Compare(slices.Index(precedence, a.Kind), slices.Index(precedence, b.Kind))
	})
	i := slices.IndexFunc(all, func(g Guard) bool { return g.Result == GuardRefuse })
	if i < 0 {
		return all, nil
	}
	return all[:i+1], &all[i]
}

// Refused reports whether a guard refuses the request already, whatever the store knows. It may be a repeat all the same.
func (r *Request) Refused() bool {
	return slices.ContainsFunc(r.Guards, func(g Guard) bool { return g.Result == GuardRefuse })
}

// refuse makes of what deduplication would have done a refusal. It is recorded; it holds no key, neither the intent's
// nor the client's, so that the same request can be made again once what is wrong was mended (I11).
func refuse(d Decision, r *Request, asked []Guard, by *Guard) Result {
	d.Explanation = explainRefusal(r, &d, by)
	d.Would, d.Action, d.Rule, d.Guards = d.Action, Refused, by.Rule, asked
	d.Message, d.WindowEnds = Snapshot{}, 0
	return Result{Kind: Decided, Decision: d}
}

// Refusal is the guard that refused the request; nil: none did.
func (d *Decision) Refusal() *Guard {
	i := slices.IndexFunc(d.Guards, func(g Guard) bool { return g.Result == GuardRefuse })
	if d.Action != Refused || i < 0 {
		return nil
	}
	return &d.Guards[i]
}
