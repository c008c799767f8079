package api

import (
	"context"
	"time"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/store"
)

// ReceiptView is one call of a provider as it was logged. Values are as received; numbers in them are masked,
// and the payload, which may quote a text, is not shown.
type ReceiptView struct {
	ID          string            `json:"id"`
	Seq         int64             `json:"seq" doc:"Its place in the log."`
	ReceivedAt  string            `json:"received_at" format:"date-time"`
	Kind        string            `json:"kind" doc:"receipt, intermediate, inbound, other or unreadable. Accept unknown values."`
	Connection  string            `json:"connection"`
	Bind        string            `json:"bind,omitempty"`
	Peer        string            `json:"peer,omitempty"`
	EventID     *string           `json:"event_id"`
	ExternalID  *string           `json:"external_id"`
	Reference   *int32            `json:"reference" doc:"Our own reference as the provider echoed it; null: it did not."`
	Status      string            `json:"status,omitempty" doc:"Raw status."`
	State       *string           `json:"state" doc:"Normalised status, where the connection documents one."`
	ErrorCode   string            `json:"error_code,omitempty" doc:"Raw error code."`
	ErrorMeans  string            `json:"error_meaning,omitempty" doc:"What the connection declares the error code to mean."`
	Source      string            `json:"source,omitempty"`
	Dest        string            `json:"destination,omitempty"`
	SubmitDate  string            `json:"submit_date,omitempty" doc:"As reported; no zone is invented."`
	DoneDate    string            `json:"done_date,omitempty" doc:"As reported; no zone is invented."`
	SubmittedAt string            `json:"submitted_at,omitempty" format:"date-time" doc:"submit_date, where the connection declares the zone of the provider's clock."`
	DoneAt      string            `json:"done_at,omitempty" format:"date-time" doc:"done_date, in the same way."`
	Other       map[string]string `json:"other,omitempty" doc:"Other fields as received, by name; numbers masked."`
	Warnings    []string          `json:"warnings,omitempty" doc:"What was odd and did not prevent reading."`
	Problem     string            `json:"problem,omitempty" doc:"Why it could not be read."`
	Parser      string            `json:"parser" doc:"What read it, in which version and with which settings."`
}

func receiptView(r *store.LoggedReceipt, names map[int64]string) ReceiptView {
	v := ReceiptView{
		ID: r.ID.String(), Seq: r.Seq, ReceivedAt: at(r.ReceivedAt), Kind: r.Kind, Connection: names[r.Connection],
		Bind: r.Bind, Peer: r.Peer, EventID: orNull(r.EventID), ExternalID: externalID(r.ExternalID),
		Status: telemetry.Mask(r.Status), State: orNull(r.State), ErrorCode: telemetry.Mask(r.ErrorCode),
		Source: telemetry.Mask(r.Source), Dest: telemetry.Mask(r.Dest),
		SubmitDate: r.SubmitDate, DoneDate: r.DoneDate, Parser: r.Parser,
	}
	v.read(r.Reading())
	if r.Reference >= 0 {
		v.Reference = &r.Reference
	}
	return v
}

// read adds what stands beside the columns.
func (v *ReceiptView) read(p store.Parsed) {
	v.ErrorMeans, v.Warnings, v.Problem = p.ErrorMeaning, p.Warnings, p.Problem
	for _, t := range []struct {
		to *string
		at time.Time
	}{{&v.SubmittedAt, p.SubmittedAt}, {&v.DoneAt, p.DoneAt}} {
		if !t.at.IsZero() {
			*t.to = t.at.UTC().Format(time.RFC3339)
		}
	}
	for name, value := range p.Extra {
		if v.Other == nil {
			v.Other = make(map[string]string, len(p.Extra))
		}
		v.Other[name] = telemetry.Mask(value)
	}
}

func (a *API) listReceipts(ctx context.Context, in *aboutIn) (List[ReceiptView], error) {
	about, p, err := in.read()
	if err != nil {
		return List[ReceiptView]{}, err
	}
	found, err := a.cfg.Store.Receipts(ctx, principalOf(ctx).Tenant, about, p)
	if err != nil {
		return List[ReceiptView]{}, err
	}
	names, err := a.cfg.Store.ConnectionNames(ctx)
	if err != nil {
		return List[ReceiptView]{}, err
	}
	view := func(r *store.LoggedReceipt) ReceiptView { return receiptView(r, names) }
	return paged(in.Limit, found, view, receiptPlace), nil
}

func receiptPlace(r *store.LoggedReceipt) (clock.Micros, [16]byte) { return r.ReceivedAt, r.ID }
