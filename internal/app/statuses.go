package app

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	wire "github.com/einmal/einmal/internal/smpp"
)

// Statuses declare what a carrier means by answers to a submission, where that is not what SMPP says of them, or where
// SMPP leaves it to the carrier.
type Statuses struct {
	Codes  map[string]string `yaml:"codes,omitempty" doc:"what an answer of that code means"` // a command_status, such as 0x08, and what it means
	Source string            `yaml:"source,omitempty" doc:"where it is written what the codes mean"`
}

// statusMeanings are what a status may mean. An acceptance is none of them: it has a status of its own.
var statusMeanings = map[string]wire.Class{
	"throttled":   wire.ClassThrottle,
	"retry_later": wire.ClassTemporary,
	"rejected":    wire.ClassPermanent,
	"account":     wire.ClassConfig,
	"unknown":     wire.ClassUnsure,
}

// UnmarshalYAML reads it with the codes as they are written: the decoder would take 010 for eight, and it passes over
// members that are numbers, which a code is that stands one level too high.
func (s *Statuses) UnmarshalYAML(n ast.Node) error {
	members, err := written(n)
	for name, value := range members {
		switch name {
		case "source":
			s.Source = scalar(value)
		case "codes":
			var codes map[string]ast.Node
			codes, err = written(value)
			s.Codes = make(map[string]string, len(codes))
			for code, meaning := range codes {
				s.Codes[code] = scalar(meaning)
			}
		default:
			return errStatuses
		}
	}
	return err
}

var errStatuses = errors.New("statuses: write {codes: {0x08: retry_later}, source: where it is written}")

// written are the members of a mapping under their names as written.
func written(n ast.Node) (map[string]ast.Node, error) {
	m, ok := n.(ast.MapNode)
	if !ok {
		return nil, errStatuses
	}
	members := map[string]ast.Node{}
	for i := m.MapRange(); i.Next(); {
		members[i.Key().GetToken().Value] = i.Value()
	}
	return members, nil
}

// scalar is a word or a text; "" is none.
func scalar(n ast.Node) string {
	if s, ok := n.(ast.ScalarNode); ok {
		return fmt.Sprint(s.GetValue())
	}
	return ""
}

func (s Statuses) check() error {
	declared, err := s.read()
	switch {
	case err != nil:
		return err
	case len(declared) > 0 && s.Source == "":
		return fmt.Errorf("source: say where it is written what the codes mean")
	}
	return nil
}

// read gives the declared statuses to the provider.
func (s Statuses) read() (map[wire.Status]wire.Class, error) {
	if len(s.Codes) > mostDeclared {
		return nil, fmt.Errorf("codes: at most %d", mostDeclared)
	}
	declared := make(map[wire.Status]wire.Class, len(s.Codes))
	for _, written := range slices.Sorted(maps.Keys(s.Codes)) {
		code, ok := statusCode(written)
		class, known := statusMeanings[s.Codes[written]]
		switch _, twice := declared[code]; {
		case !ok:
			return nil, fmt.Errorf("codes.%s: write a command_status in hexadecimal, such as 0x08, or in decimal, such as 1025", written)
		case code == wire.StatusOK:
			return nil, fmt.Errorf("codes.%s: it says that the message was taken, everywhere", written)
		case !known:
			return nil, fmt.Errorf("codes.%s: the meanings are %s", written, strings.Join(slices.Sorted(maps.Keys(statusMeanings)), ", "))
		case twice:
			return nil, fmt.Errorf("codes.%s: is there twice; %s is the same", written, code)
		}
		declared[code] = class
	}
	return declared, nil
}

// statusCode reads a code. A zero in front of a decimal one might be meant as octal or as hexadecimal.
func statusCode(s string) (wire.Status, bool) {
	base, digits := 10, s
	if hex, ok := strings.CutPrefix(strings.ToLower(s), "0x"); ok {
		base, digits = 16, hex
	} else if len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, base, 32)
	return wire.Status(n), err == nil
}
