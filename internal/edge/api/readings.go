package api

import (
	"context"

	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/store"
)

// OneReceiptView is a receipt asked for by its id.
type OneReceiptView struct {
	ReceiptView
	Readings []ReadingView `json:"former_readings" nullable:"false" doc:"How it was read before it was read again, the oldest reading first."`
}

// ReadingView is how a receipt was read once.
type ReadingView struct {
	Until      string  `json:"until" format:"date-time"`
	By         string  `json:"by" doc:"Who had it read again."`
	Reason     string  `json:"reason"`
	Kind       string  `json:"kind"`
	ExternalID *string `json:"external_id"`
	Status     string  `json:"status,omitempty" doc:"Raw status."`
	State      *string `json:"state"`
	ErrorCode  string  `json:"error_code,omitempty"`
	Problem    string  `json:"problem,omitempty"`
	Parser     string  `json:"parser"`
}

func readingView(r *store.Reading) ReadingView {
	return ReadingView{
		Until: at(r.Until), By: r.By, Reason: r.Reason, Kind: r.Kind, ExternalID: externalID(r.ExternalID),
		Status: telemetry.Mask(r.Status), State: orNull(r.State), ErrorCode: telemetry.Mask(r.ErrorCode),
		Problem: r.Reading().Problem, Parser: r.Parser,
	}
}

func (a *API) getReceipt(ctx context.Context, in *oneIn) (OneReceiptView, error) {
	id, err := parseID[ident.Receipt](in.ID)
	if err != nil {
		return OneReceiptView{}, err
	}
	r, err := a.cfg.Store.Receipt(ctx, principalOf(ctx).Tenant, id)
	if err != nil {
		return OneReceiptView{}, err
	}
	former, err := a.cfg.Store.Readings(ctx, id)
	if err != nil {
		return OneReceiptView{}, err
	}
	names, err := a.cfg.Store.ConnectionNames(ctx)
	v := OneReceiptView{receiptView(r, names), make([]ReadingView, len(former))}
	for i := range former {
		v.Readings[i] = readingView(&former[i])
	}
	return v, err
}
