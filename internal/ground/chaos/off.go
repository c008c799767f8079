//go:build !chaos

package chaos

import "time"

// Enabled reports whether this build can be told to fail.
const Enabled = false

// At does nothing in an ordinary build.
func At(Point) {}

// StoreClockOffset is how far the store's clock is shifted: not at all in an ordinary build.
func StoreClockOffset() time.Duration { return 0 }

// NodeClockOffset is how far the node's wall clock is shifted: not at all in an ordinary build.
func NodeClockOffset() time.Duration { return 0 }

// WebhookHaste is by how much the pauses between tries of a webhook are shorter than they are: not at all in an ordinary
// build.
func WebhookHaste() int64 { return 1 }
