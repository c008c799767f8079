package intake

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/engine/receipt"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// book is a log of receipts, and a sealer that writes down what it sealed for whom.
type book struct {
	err, sealErr error
	calls        [][]*store.LoggedReceipt
	after        time.Duration
	handed       []*store.LoggedReceipt
}

func (b *book) LogReceipts(_ context.Context, rs []*store.LoggedReceipt, after time.Duration) error {
	if b.err == nil {
		b.calls, b.after = append(b.calls, rs), after
	}
	return b.err
}

func (b *book) Seal(_ context.Context, tenant ident.Partition, at time.Time, aad, plaintext []byte) ([]byte, error) {
	return slices.Concat([]byte{byte(tenant), byte(at.Day())}, aad, plaintext), b.sealErr
}

func (b *book) door() *Door {
	return New(Config{
		Connection: 3, IDSpace: 4, Name: "carrier", Tenant: 1, Sealer: b, Log: b,
		Key:    func(form []byte) intent.Key { return intent.Key{byte(len(form))} },
		Clock:  clock.NewManual(time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC)),
		Hand:   func(rs []*store.LoggedReceipt) { b.handed = append(b.handed, rs...) },
		Logger: slog.New(slog.DiscardHandler), Metrics: NewMetrics(telemetry.NewMetrics()),
	})
}

func events(n int) []provider.RawEvent {
	all := make([]provider.RawEvent, n)
	for i := range all {
		all[i] = provider.RawEvent{Payload: []byte{byte(i), byte(i >> 8)}, Parsed: provider.Parsed{Kind: provider.KindReceipt, ExternalID: []byte("A")}}
	}
	return all
}

// One event or five hundred: one transaction, sealed, each in its own place, and only then handed on.
//
// covers: R1, R11, D15
func TestTakeStoresThenHandsOn(t *testing.T) {
	for _, n := range []int{1, 500} {
		b := &book{}
		if err := b.door().Take(t.Context(), events(n)); err != nil {
			t.Fatal(err)
		}
		if len(b.calls) != 1 || len(b.calls[0]) != n || !slices.Equal(b.handed, b.calls[0]) || b.after != 5*time.Second {
			t.Fatalf("%d events: %d transactions, %d handed on, due again after %v", n, len(b.calls), len(b.handed), b.after)
		}
		for i, r := range b.calls[0] {
			want := slices.Concat([]byte{1, 24}, receipt.Place(r.ID), []byte{byte(i), byte(i >> 8)})
			if string(r.Payload) != string(want) || r.Connection != 3 || r.IDSpace != 4 || r.EventKey == [16]byte{} {
				t.Fatalf("event %d is stored as %+v", i, r)
			}
		}
	}
}

// What is not stored has no effect, and the provider keeps it.
//
// covers: R1, I13
func TestWhatIsNotStoredIsNotTaken(t *testing.T) {
	broken := errors.New("away")
	for name, b := range map[string]*book{"store": {err: broken}, "sealer": {sealErr: broken}} {
		if err := b.door().Take(t.Context(), events(2)); !errors.Is(err, broken) || len(b.handed) != 0 || len(b.calls) != 0 {
			t.Errorf("%s: Take says %v, %d were stored and %d handed on", name, err, len(b.calls), len(b.handed))
		}
	}
}

// What is stored with its effect is not handed on; what could not be is stored by itself, and then is.
func TestWhatIsSettledAtOnceIsNotHandedOn(t *testing.T) {
	for _, settles := range []bool{true, false} {
		b := &book{}
		d := b.door()
		var offered []*store.LoggedReceipt
		d.cfg.Settle = func(_ context.Context, rs []*store.LoggedReceipt) bool {
			offered = rs
			return settles
		}
		if err := d.Take(t.Context(), events(2)); err != nil || len(offered) != 2 || (len(b.calls) == 0) != settles || (len(b.handed) == 0) != settles {
			t.Errorf("settled at once %v: %v, %d transactions, %d handed on", settles, err, len(b.calls), len(b.handed))
		}
	}
}
