package request

import (
	"fmt"
	"time"

	"github.com/einmal/einmal/internal/domain/policy"
)

// Limits of a request. They are part of the API's description; the database's columns are not bounded.
const (
	// MaxName is the longest event id, version, type, template id, template version and correlation id, in
	// characters.
	MaxName = policy.MaxName
	// MaxMetadata is how many metadata keys a message may have, MaxMetadataKey and MaxMetadataValue how long
	// they may be, in characters.
	MaxMetadata      = 20
	MaxMetadataKey   = 64
	MaxMetadataValue = 256
	// DefaultMostParts is how many parts a text may have where a connection does not say.
	DefaultMostParts = 10
)

// Bounds of valid_for, the time that a message may wait to be sent.
const (
	MinValidFor     = time.Second
	MaxValidFor     = 72 * time.Hour
	DefaultValidFor = 24 * time.Hour
	// AuthenticationLife bounds everything about a code: it ends ten minutes after its start (D6).
	AuthenticationLife = 10 * time.Minute
)

// words writes a duration in its largest whole unit.
func words(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}
