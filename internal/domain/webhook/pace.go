package webhook

import "time"

const (
	// FirstPace is how many deliveries of an endpoint a node takes in hand that it knows nothing of.
	FirstPace = 4
	// MostPace bounds it: what waits in a node's hand waits for that node.
	MostPace = 64
	// Flight is how many requests an endpoint gets at a time from each node.
	Flight = 16
	// slowAnswer is an answer that took so long that more in hand would only wait longer.
	slowAnswer = time.Second
)

// Pace is how many deliveries of an endpoint a node takes in hand after an answer. Each quick yes makes room for one more,
// which doubles it in the time that a handful takes; a failure leaves one, to see whether the endpoint is well again. What
// answers slowly is not given more than it was at first: whatever it holds is held for long.
func Pace(had int, v Verdict, took time.Duration) int {
	switch {
	case v == Unsent:
		return had
	case v != Took:
		return 1
	case took >= slowAnswer:
		return min(had+1, FirstPace)
	}
	return min(had+1, MostPace)
}
