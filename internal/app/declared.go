package app

import (
	"fmt"
	"time"
	_ "time/tzdata" // zones, also where the machine has none

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/receipt"
	"github.com/einmal/einmal/internal/ground/fault"
)

// Declared is what is known of a connection's receipts, from the carrier's manual or from its support. All of it may
// be left out: then ids are opaque, statuses mean what they mean everywhere, and dates stay as received.
type Declared struct {
	DeliveredMeans string   `yaml:"delivered_means,omitempty" one:"handset network" doc:"what stands behind delivered"`
	IDs            IDs      `yaml:"ids,omitempty"`
	Parts          string   `yaml:"parts,omitempty" one:"all first" doc:"for which parts of a long message receipts come; the first may speak for the others"`
	Time           Duration `yaml:"time,omitempty" doc:"how long after a message's validity receipts may come; then it is final as it is"`
	Zone           string   `yaml:"zone,omitempty" doc:"where the carrier's clock stands, such as UTC or Europe/Berlin"`
	// States are the carrier's own statuses and what each means; Errors its error codes, in its words.
	States   map[string]string `yaml:"states,omitempty" doc:"what that status of the carrier means"`
	Errors   map[string]string `yaml:"errors,omitempty" doc:"that code of the carrier, in its words"`
	Unmarked bool              `yaml:"unmarked,omitempty" doc:"receipts come without the receipt bit; what a handset sends may then pass for one"`
	// Corrections need Confirmed.
	Corrections []Correction `yaml:"corrections,omitempty" doc:"final reports that a later one of the same part replaces"`
	Confirmed   Confirmed    `yaml:"confirmed,omitempty"`
}

// IDs says how message ids are written. See receipt.IDs.
type IDs struct {
	Response string `yaml:"response,omitempty" one:"opaque hex decimal" doc:"how answers write message ids"`
	Receipt  string `yaml:"receipt,omitempty" one:"opaque hex decimal" doc:"how receipts write them"`
	Case     string `yaml:"case,omitempty" one:"exact insensitive" doc:"whether letter case counts in opaque ids"`
	Zeros    string `yaml:"zeros,omitempty" one:"exact ignored" doc:"whether leading zeros count in opaque ids"`
	First    int    `yaml:"first,omitempty" doc:"only so many octets are compared, from the beginning"`
	Last     int    `yaml:"last,omitempty" doc:"only so many octets are compared, from the end"`
}

// Confirmed says who vouches for what is declared, since when, and where it is written.
type Confirmed struct {
	By     string `yaml:"by,omitempty" doc:"who vouches for what is declared"`
	On     string `yaml:"on,omitempty" doc:"since which day, such as 2026-11-01"`
	Source string `yaml:"source,omitempty" doc:"where it is written"`
}

// minReceiptTime is the least that is waited for receipts; the most is evidence.EventLife, after which no repeat of one
// would be known.
const minReceiptTime = time.Minute

// mostDeclared bounds how many statuses and codes a connection may declare, and how long each may be.
const (
	mostDeclared    = 1000
	longestDeclared = 200
)

func (d Declared) check() error {
	if t := time.Duration(d.Time); t < minReceiptTime || t > evidence.EventLife {
		return fmt.Errorf("time: from 1m to %.0fh", evidence.EventLife.Hours())
	}
	ids, err := d.IDs.read()
	if err != nil {
		return fmt.Errorf("ids.%w", err)
	}
	if err := ids.Check(); err != nil {
		return fmt.Errorf("ids.%w", err)
	}
	if _, err := d.settings(); err != nil {
		return err
	}
	if _, err := d.corrections(); err != nil {
		return err
	}
	return d.Confirmed.check()
}

func (c Confirmed) check() error {
	if c == (Confirmed{}) {
		return nil
	}
	if _, err := time.Parse(time.DateOnly, c.On); err != nil {
		return fmt.Errorf("confirmed.on: write a day, such as 2026-11-01")
	}
	if c.By == "" || c.Source == "" {
		return fmt.Errorf("confirmed: say by whom, and in which source it is written")
	}
	return nil
}

func (i IDs) read() (receipt.IDs, error) {
	d := receipt.IDs{Response: receipt.Form(i.Response), Receipt: receipt.Form(i.Receipt), First: i.First, Last: i.Last}
	for _, s := range []struct {
		name, value, loose string
		to                 *bool
	}{{"case", i.Case, "insensitive", &d.AnyCase}, {"zeros", i.Zeros, "ignored", &d.AnyZeros}} {
		if s.value != "" && s.value != "exact" && s.value != s.loose {
			return d, fmt.Errorf("%s: write exact or %s", s.name, s.loose)
		}
		*s.to = s.value == s.loose
	}
	return d, nil
}

// settings are those of the parser.
func (d Declared) settings() (receipt.Settings, error) {
	s := receipt.Settings{Unmarked: d.Unmarked, Errors: d.Errors, States: make(map[string]receipt.State, len(d.States))}
	if len(d.States) > mostDeclared || len(d.Errors) > mostDeclared {
		return s, fmt.Errorf("states, errors: at most %d of each", mostDeclared)
	}
	for status, name := range d.States {
		state, ok := receipt.ParseState(name)
		key := receipt.ParseStatus(status)
		switch _, twice := s.States[key]; {
		case !ok:
			return s, fmt.Errorf("states.%s: the states are %s", status, fault.List(receipt.States))
		case key == "" || len(key) > longestDeclared:
			return s, fmt.Errorf("states: a status has 1 to %d octets", longestDeclared)
		case twice:
			return s, fmt.Errorf("states.%s: is there twice; upper and lower case are the same", status)
		}
		s.States[key] = state
	}
	for code, words := range d.Errors {
		if code == "" || len(code) > longestDeclared || words == "" || len(words) > longestDeclared {
			return s, fmt.Errorf("errors: a code and its meaning have 1 to %d octets each", longestDeclared)
		}
	}
	if d.Zone != "" {
		zone, err := time.LoadLocation(d.Zone)
		if err != nil || d.Zone == "Local" {
			return s, fmt.Errorf("zone: write a name such as UTC or Europe/Berlin")
		}
		s.Zone = zone
	}
	return s, nil
}
