package tenant

import "github.com/einmal/einmal/internal/domain/intent"

// teamRule names the rule in decisions.
const teamRule = "key.team"

// Team is what is said of a message that is asked for by a team key: it goes to the tenant's users and guests alone.
func Team(member bool) intent.Guard {
	g := intent.Guard{Rule: teamRule, Kind: intent.GuardTeam, Result: intent.GuardPass}
	if !member {
		g.Result = intent.GuardRefuse
		g.Words = "A team key reaches the phones of the tenant's users and guests alone, and this is none of them: add it as a guest, or use a live key."
	}
	return g
}
