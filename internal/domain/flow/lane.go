// Package flow says whose turn it is. Pending messages wait in flows; a claim looks at the flows with work and
// this package says how many messages of each are taken (D19):
//
//   - Lanes by kind of purpose, the urgent one first. A lane that waits while twenty messages of more urgent ones
//     are taken gets the next place, so that none is starved for ever.
//   - Within a lane tenants take turns, whatever the number of their flows, and within a tenant its flows.
//   - A tenth of the in-flight window and of the credit is the urgent lane's alone: neither a slow carrier's full
//     window nor a campaign at its rate holds a code.
//   - What has no credit is passed over and hides nobody.
//
// It is pure: the store looks, the deal says how many, the store takes them.
package flow

import "github.com/einmal/einmal/internal/domain/policy"

// Lanes is how many there are. Their numbers are part of flows' numbers and are stored.
const Lanes = 5

// Urgent is the lane of codes.
const Urgent = 0

var lanes = map[policy.Kind]int{
	policy.KindAuthentication: Urgent, policy.KindAlert: 1, policy.KindConfirmation: 2, policy.KindService: 3, policy.KindCampaign: 4,
}

// LaneName is what the lane with this number is called: by the kind of purpose that it is for.
func LaneName(lane int) string {
	for kind, n := range lanes {
		if n == lane {
			return string(kind)
		}
	}
	return ""
}

// LaneOf is the lane of a kind of purpose: a code waits behind nothing, a campaign behind everything.
func LaneOf(k policy.Kind) int { return lanes[k] }
