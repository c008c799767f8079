package app_test

import (
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/app"
)

func TestWrongRates(t *testing.T) {
	for text, want := range map[string]string{
		"rate: 100":                                     "100/s, 30/m or 500/h",
		"senders: {SHOP: {rate: fast}}":                 "100/s, 30/m or 500/h",
		"senders: {SHOP: {}}":                           "senders.SHOP.rate: missing",
		"senders: {SHOP: {rte: 1/s}}":                   "rte",
		"senders: {'a name far too long': {rate: 1/s}}": "not a sender",
		"senders: {'+4915112345678': {rate: 1/s}, '4915112345678': {rate: 1/s}}": "the same sender",
	} {
		if _, err := load(t, "connections: {a: {kind: simulator, "+text+"}}", app.Flags{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a word of %q", text, err, want)
		}
	}
}
