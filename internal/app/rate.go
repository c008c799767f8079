package app

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/phone"
)

// Rate is written like 100/s, 30/m or 500/h: messages in a second, a minute, an hour. It is kept as the time between
// two; 0 is none.
type Rate time.Duration

// Sender is what a connection knows about one of its senders.
type Sender struct {
	Rate Rate `yaml:"rate" doc:"a sender's own rate beside the connection's"`
}

var (
	rateForm  = regexp.MustCompile(`^([1-9][0-9]{0,7})/([smh])$`)
	rateUnits = []struct {
		name string
		per  time.Duration
	}{{"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}}
	errRate = errors.New("not a rate: write it like 100/s, 30/m or 500/h, at most 10000/s")
)

// fastest is the time between two messages of the highest rate.
const fastest = Rate(time.Second / 10_000)

// UnmarshalText reads it.
func (r *Rate) UnmarshalText(b []byte) error {
	form := rateForm.FindSubmatch(b)
	if form == nil {
		return errRate
	}
	n, err := strconv.Atoi(string(form[1]))
	if err != nil {
		return errRate
	}
	for _, unit := range rateUnits {
		if unit.name == string(form[2]) {
			*r = Rate(unit.per / time.Duration(n))
		}
	}
	if *r < fastest {
		return errRate
	}
	return nil
}

// UnmarshalYAML reads it with its place in the file.
func (r *Rate) UnmarshalYAML(n ast.Node) error { return readText(n, r.UnmarshalText) }

// MarshalText writes it, in the smallest unit that has a whole number of messages.
func (r Rate) MarshalText() ([]byte, error) {
	for i, unit := range rateUnits {
		n := float64(unit.per) / float64(r)
		if whole := math.Round(n); whole >= 1 && math.Abs(n-whole) < 1e-3 || i == len(rateUnits)-1 {
			return fmt.Appendf(nil, "%.0f/%s", whole, unit.name), nil
		}
	}
	return nil, nil
}

// rates are the connection's own rate and its senders'.
func (k Connection) rates() flow.Rates {
	rates := flow.Rates{}
	if k.Rate != 0 {
		rates[""] = time.Duration(k.Rate)
	}
	for name, s := range k.Senders {
		if sender, err := phone.ParseSender(name); err == nil && s.Rate != 0 {
			rates[sender.String()] = time.Duration(s.Rate)
		}
	}
	return rates
}

// checkSenders finds names that are no senders, and two that are one.
func (k Connection) checkSenders() error {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(k.Senders)) {
		sender, err := phone.ParseSender(name)
		switch before, twice := seen[sender.String()]; {
		case err != nil:
			return fmt.Errorf("senders.%s: %w", name, err)
		case twice:
			return fmt.Errorf("senders.%s: the same sender as %s", name, before)
		case k.Senders[name].Rate == 0:
			return fmt.Errorf("senders.%s.rate: missing: write it like 10/s", name)
		}
		seen[sender.String()] = name
	}
	return nil
}
