package api

import (
	"net/http"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/ground/fault"
)

// GuardView is what one rule beside deduplication said.
type GuardView struct {
	Rule   string `json:"rule" example:"wallet.balance"`
	Kind   string `json:"kind" doc:"team, limit or funds. Accept unknown values."`
	Result string `json:"result" doc:"pass or refuse."`
}

func guardViews(guards []intent.Guard) []GuardView {
	views := make([]GuardView, len(guards))
	for i, g := range guards {
		views[i] = GuardView{g.Rule, string(g.Kind), string(g.Result)}
	}
	return views
}

// ProblemReason names the decision that a refusal is.
type ProblemReason struct {
	ID     string `json:"id" doc:"GET /v1/decisions/{id} explains it."`
	Action string `json:"action"`
	Rule   string `json:"rule" doc:"The rule that refused." example:"wallet.balance"`
	Would  string `json:"would" doc:"What deduplication would have done: allow, or suppress where it only monitors."`
	Class  string `json:"class"`
	Reason string `json:"reason" doc:"Why deduplication would have done that."`
}

// refusal is the problem document of a request that a rule refused; nil: none did, or it was a dry run, which tells
// the decision like any other.
func refusal(a *outbound.Answer) *Problem {
	d := &a.Decision
	by := d.Refusal()
	if by == nil || a.DryRun {
		return nil
	}
	row := faultRowOf(fault.Code(by.Kind))
	return &Problem{
		Type: typePrefix + string(row.Code), Title: row.Title, Status: row.Status, Detail: d.Explanation,
		Code: string(row.Code), Retryable: row.Retryable, headers: http.Header{},
		Decision: &ProblemReason{
			ID: d.ID.String(), Action: d.Action.String(), Rule: by.Rule, Would: d.Would.String(), Class: d.Class.String(), Reason: string(d.Reason),
		},
		Guards: guardViews(d.Guards),
	}
}
