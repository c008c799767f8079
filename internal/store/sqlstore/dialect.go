package sqlstore

// Dialect is all that differs between the engines, beside their migrations.
type Dialect struct {
	Name       string
	Arrays     bool // rows come as arrays and parameters are numbered; else VALUES lists and bare marks
	ForUpdate  string
	ForShare   string
	SkipLocked string
	// LockHead waits its turn until no other transaction holds the policy in force, and keeps others from taking it.
	// A row lock would starve: whoever shares a row lets others share it past those who wait to change it. "": the
	// engine has one writer.
	LockHead string
	// OneWriter: one transaction writes at a time, so commits become visible in their order.
	OneWriter bool
	// ServerClock: the server's clock is the store's; else Options.Clock is.
	ServerClock bool
	// Partitions: what is only inserted lies in partitions by time, and is forgotten by dropping them.
	Partitions bool
	// Classify says what an error of the driver means for a batch.
	Classify func(error) Class
}

// Class says what an error means for the batch that met it (architecture, "what goes wrong in a batch").
type Class uint8

// The classes.
const (
	Defect  Class = iota // a fault of this program: 500, logged, not tried again
	Poison               // one request of the batch is wrong: halve until it stands alone
	Stuck                // one request of the batch waited too long for a lock: the same, with another answer
	Again                // nothing is wrong with the batch: the same batch again
	Lost                 // the connection ended, perhaps at COMMIT: the same batch with the same ids on another one
	Refused              // the store does not take anything now: 503
)

var classNames = map[Class]string{Defect: "defect", Poison: "poison", Stuck: "stuck", Again: "again", Lost: "lost", Refused: "refused"}

// String returns the class's name in metrics.
func (c Class) String() string { return classNames[c] }
