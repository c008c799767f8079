package receipt

import (
	"context"

	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

// Sealer opens payloads, and seals what takes a payload's place under the key that the payload was sealed
// with. That key is there, so nothing has to be written to find it: Redact runs inside a transaction of the
// store, and one that writes keys would wait for itself.
type Sealer interface {
	Open(ctx context.Context, aad, sealed, own []byte) ([]byte, error)
	Reseal(ctx context.Context, aad, sealed, plaintext []byte) ([]byte, error)
}

// Redactor masks, in stored payloads, the text that a receipt quotes: of an authentication message that is the
// code itself (D15).
type Redactor struct {
	Sealer  Sealer
	Readers func(connection int64) provider.Reader // nil: nobody reads that connection's
}

// Redact is store.Rules.Redact. It returns nil where nothing has to be replaced: nothing is quoted, or the
// payload's key is destroyed and nobody can read it any more. Without a reader for the connection, one that was
// taken out of the configuration, the whole payload is emptied: nobody could tell where the quoted text is.
func (d *Redactor) Redact(r *store.LoggedReceipt) ([]byte, error) {
	ctx := context.Background()
	payload, err := d.Sealer.Open(ctx, Place(r.ID), r.Payload, nil)
	switch {
	case err != nil && fault.CodeOf(err) == fault.NotFound:
		return nil, nil
	case err != nil:
		return nil, err
	}
	reader := d.Readers(r.Connection)
	if reader == nil {
		return d.Sealer.Reseal(ctx, Place(r.ID), r.Payload, nil)
	}
	masked, quoted := reader.Redact(payload)
	if !quoted {
		return nil, nil
	}
	return d.Sealer.Reseal(ctx, Place(r.ID), r.Payload, masked)
}
