package app

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/einmal/einmal/internal/provider/smpp"
	wire "github.com/einmal/einmal/internal/smpp"
)

// Addresses say with which type of number (TON) and numbering plan (NPI) a connection sends each kind of address: a
// name of addressForms, or a pair such as 2/8. Operators differ, above all in short codes.
type Addresses struct {
	Alphanumeric    string `yaml:"alphanumeric" doc:"how senders that are names are typed"`
	ShortCode       string `yaml:"short_code" doc:"senders of few digits, without a plus sign"`
	Number          string `yaml:"number" doc:"senders that are numbers"`
	Destination     string `yaml:"destination" doc:"destinations"`
	ShortCodeDigits int    `yaml:"short_code_digits" doc:"the largest number of digits of a short code"`
}

// addressForms are the usual choices.
var addressForms = map[string]smpp.TONNPI{
	"alphanumeric":     {TON: wire.TONAlphanumeric, NPI: wire.NPIUnknown},
	"international":    {TON: wire.TONInternational, NPI: wire.NPIISDN},
	"network_specific": {TON: wire.TONNetwork, NPI: wire.NPIUnknown},
	"abbreviated":      {TON: wire.TONAbbreviated, NPI: wire.NPIUnknown},
	"unknown":          {TON: wire.TONUnknown, NPI: wire.NPIISDN},
}

// What SMPP 3.4 gives a meaning to: sections 5.2.5 and 5.2.6.
const (
	mostTON = 6
	mostNPI = 18
)

var addressPair = regexp.MustCompile(`^(0|[1-9][0-9]?)/(0|[1-9][0-9]?)$`)

func (a Addresses) withDefaults() Addresses {
	for _, m := range []struct {
		to       *string
		standard string
	}{{&a.Alphanumeric, "alphanumeric"}, {&a.ShortCode, "network_specific"}, {&a.Number, "international"}, {&a.Destination, "international"}} {
		if *m.to == "" {
			*m.to = m.standard
		}
	}
	if a.ShortCodeDigits == 0 {
		a.ShortCodeDigits = smpp.DefaultAddressRules.ShortCodeDigits
	}
	return a
}

func (a Addresses) check() error {
	_, err := a.rules()
	return err
}

// rules are those of the provider, which writes the wire and the attempt's record by them.
func (a Addresses) rules() (*smpp.AddressRules, error) {
	a = a.withDefaults()
	r := &smpp.AddressRules{ShortCodeDigits: a.ShortCodeDigits}
	if a.ShortCodeDigits < 1 || a.ShortCodeDigits > smpp.DefaultAddressRules.ShortCodeDigits {
		return nil, fmt.Errorf("short_code_digits: from 1 to %d; a sender of more digits is a number", smpp.DefaultAddressRules.ShortCodeDigits)
	}
	for _, m := range []struct {
		name, form string
		to         *smpp.TONNPI
	}{{"alphanumeric", a.Alphanumeric, &r.Alphanumeric}, {"short_code", a.ShortCode, &r.ShortCode}, {"number", a.Number, &r.Number}, {"destination", a.Destination, &r.Destination}} {
		got, ok := addressForm(m.form)
		if !ok {
			return nil, fmt.Errorf("%s: write alphanumeric (5/0), international (1/1), network_specific (3/0), abbreviated (6/0), unknown (0/1), or TON/NPI as a pair such as 2/8; TON goes to %d, NPI to %d",
				m.name, mostTON, mostNPI)
		}
		*m.to = got
	}
	return r, nil
}

func addressForm(s string) (smpp.TONNPI, bool) {
	if known, ok := addressForms[s]; ok {
		return known, true
	}
	pair := addressPair.FindStringSubmatch(s)
	if pair == nil {
		return smpp.TONNPI{}, false
	}
	ton, _ := strconv.Atoi(pair[1]) // one digit or two
	npi, _ := strconv.Atoi(pair[2])
	return smpp.TONNPI{TON: uint8(ton), NPI: uint8(npi)}, ton <= mostTON && npi <= mostNPI
}
