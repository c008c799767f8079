package api

import (
	"context"
	"slices"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// StoppedView says which stop a message waits for.
type StoppedView struct {
	ID     string `json:"id"`
	Since  string `json:"since" format:"date-time"`
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
}

// holding reads the stops that hold a tenant's messages, where any of these could be held.
func (a *API) holding(ctx context.Context, tenant ident.Partition, messages ...*store.Message) ([]store.Stop, error) {
	if !slices.ContainsFunc(messages, func(m *store.Message) bool { return m.State == message.Pending }) {
		return nil, nil
	}
	return a.cfg.Store.HoldingStops(ctx, tenant)
}

// stopOf is the first of the stops that holds a message, and nil if none does.
func stopOf(m *store.Message, stops []store.Stop) *store.Stop {
	place := flow.Place{Connection: m.Connection, Tenant: m.Tenant}
	for i := range stops {
		if m.State == message.Pending && stops[i].Scope.Holds(place, m.Purpose) {
			return &stops[i]
		}
	}
	return nil
}

// stoppedView shows a stop to the tenant whose message it holds; nil: none does.
func stoppedView(s *store.Stop, tenant ident.Partition) *StoppedView {
	if s == nil {
		return nil
	}
	v := stopNames{}.view(s, tenant)
	return &StoppedView{ID: v.ID, Since: v.Since, By: v.By, Reason: v.Reason}
}

// prospect is the sentence for a message, and the stop that holds it, if one does.
func (a *API) prospect(ctx context.Context, m known) (string, *StoppedView, error) {
	if m.inDoubt {
		return waitsForRelease, nil, nil
	}
	stops, err := a.holding(ctx, m.Tenant, m.Message)
	s := stopOf(m.Message, stops)
	if s == nil {
		return outlook(m.Message), nil, err
	}
	v := stoppedView(s, m.Tenant)
	words := "An emergency stop by " + v.By + " holds it since " + clockWords(s.At)
	if v.Reason != "" {
		words += " (" + v.Reason + ")"
	}
	if m.Progress().Taken > 0 {
		return words + ". It was sent in part. The rest is sent once the stop is lifted, until " + clockWords(m.ValidUntil) + " at the latest; then it has failed.", v, err
	}
	return words + ". It is sent once the stop is lifted, until " + clockWords(m.ValidUntil) + " at the latest; then it expires.", v, err
}
