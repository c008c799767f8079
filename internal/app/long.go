package app

import (
	"fmt"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/request"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/provider"
)

// Long says how texts of more than one part are sent over a connection.
type Long struct {
	MostParts int    `yaml:"most_parts" doc:"a text that needs more parts is refused"`
	JoinedBy  string `yaml:"joined_by" one:"udh8 udh16 sar payload" doc:"what tells a handset that parts belong together"`
	Send      string `yaml:"send" one:"first_gates together" doc:"whether the other parts wait until the first is accepted"`
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
	if l.MostParts < 1 || l.MostParts > gsm.MaxParts {
		return fmt.Errorf("most_parts: from 1 to %d", gsm.MaxParts)
	}
	return nil
}

func (l Long) limits() outbound.Long {
	return outbound.Long{MostParts: l.MostParts, JoinedBy: provider.Joining(l.JoinedBy)}
}
