package app

import (
	"regexp"
	"slices"
	"strings"

	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/ground/settings"
)

// variablePrefix begins the name of every environment variable that sets something.
const variablePrefix = "EINMAL_"

// otherVariables are ours and no members of the configuration.
var otherVariables = []string{
	"EINMAL_CONFIG",                                    // the configuration file
	"EINMAL_URL", "EINMAL_KEY", "EINMAL_SMSC_PASSWORD", // other commands
	"EINMAL_KILL", "EINMAL_PAUSE", "EINMAL_WEBHOOK_HASTE", "EINMAL_CLOCK_OFFSET", "EINMAL_NODE_CLOCK_OFFSET", // builds with the tag chaos
	"EINMAL_SEED", "EINMAL_TORTURE", // tests
}

// testVariables begins the names by which tests are told of services.
const testVariables = "EINMAL_TEST_"

// serviceLinks are what Kubernetes puts into the environment of every container for a service whose name begins with
// einmal. The value of the one without a suffix is an address, so that somebody's EINMAL_PORT=80 is still refused.
var serviceLinks = regexp.MustCompile(`^EINMAL(_[A-Z0-9_]+)?(_SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?=|_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?=|_PORT=(tcp|udp|sctp)://)`)

// passedOver knows the variables that set nothing here and are right all the same.
func passedOver(name, value string) bool {
	return slices.Contains(otherVariables, name) || strings.HasPrefix(name, testVariables) || serviceLinks.MatchString(name+"="+value)
}

// referredTo are the variables that members refer to as env:NAME.
func referredTo(members []*settings.Member) []string {
	var names []string
	for _, m := range members {
		name, ok := strings.CutPrefix(m.Text(), "env:")
		switch {
		case ok && m.Name() == "keys":
			names = append(names, secret.Variables(name)...)
		case ok:
			names = append(names, name)
		}
	}
	return names
}
