package evidence

import "github.com/einmal/einmal/internal/domain/receipt"

// Profile is what is declared of a connection's receipts. The zero value declares nothing.
type Profile struct {
	// EchoesReference: receipts carry our own reference.
	EchoesReference bool
	IDs             receipt.IDs // how message ids are written in answers and in receipts
}
