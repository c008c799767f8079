package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/request"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/provider"
)

// Long says how texts of more than one part are sent over a connection.
type Long struct {
	MostParts int    `yaml:"most_parts"` // a text that needs more is refused
	JoinedBy  string `yaml:"joined_by"`  // udh8, udh16, sar or payload: what tells a handset that parts belong together
	Send      string `yaml:"send"`       // first_gates: the others leave once the first is accepted; together
}

// The ways to send parts.
const (
	sendFirstGates = "first_gates"
	sendTogether   = "together"
)

// For how many parts of a message a carrier sends receipts.
const (
	receiptsOfAll   = "all"
	receiptsOfFirst = "first"
)

var joinings = []string{
	string(provider.JoinedByUDH8), string(provider.JoinedByUDH16), string(provider.JoinedBySAR), string(provider.JoinedByPayload),
}

func (l Long) withDefaults() Long {
	if l.MostParts == 0 {
		l.MostParts = request.DefaultMostParts
	}
	if l.JoinedBy == "" {
		l.JoinedBy = string(provider.JoinedByUDH8)
	}
	if l.Send == "" {
		l.Send = sendFirstGates
	}
	return l
}

func (l Long) check() error {
	switch {
	case l.MostParts < 1 || l.MostParts > gsm.MaxParts:
		return fmt.Errorf("most_parts: from 1 to %d", gsm.MaxParts)
	case !slices.Contains(joinings, l.JoinedBy):
		return fmt.Errorf("joined_by: write one of %s", strings.Join(joinings, ", "))
	case l.Send != sendFirstGates && l.Send != sendTogether:
		return fmt.Errorf("send: write %s or %s", sendFirstGates, sendTogether)
	}
	return nil
}

func (l Long) limits() outbound.Long {
	return outbound.Long{MostParts: l.MostParts, JoinedBy: provider.Joining(l.JoinedBy)}
}
