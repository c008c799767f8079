package app

import (
	"testing"
	"time"
)

// covers: D19
func TestRatesAreReadAndWritten(t *testing.T) {
	for text, want := range map[string]struct {
		every time.Duration
		text  string
	}{
		"100/s": {10 * time.Millisecond, "100/s"}, "1/s": {time.Second, "1/s"}, "30/m": {2 * time.Second, "30/m"}, "60/m": {time.Second, "1/s"},
		"3/s": {333333333, "3/s"}, "10000/s": {100 * time.Microsecond, "10000/s"}, "1/h": {time.Hour, "1/h"}, "500/h": {7200 * time.Millisecond, "500/h"},
	} {
		var r Rate
		err := r.UnmarshalText([]byte(text))
		written, _ := r.MarshalText()
		if err != nil || time.Duration(r) != want.every || string(written) != want.text {
			t.Errorf("%s was read as one every %s and written as %s: %v", text, time.Duration(r), written, err)
		}
	}
	for _, wrong := range []string{"", "100", "0/s", "-1/s", "100/d", "1.5/s", "100 / s", "10001/s", "99999999/s", "36000001/h", "100/s "} {
		var r Rate
		if err := r.UnmarshalText([]byte(wrong)); err == nil {
			t.Errorf("%q was read as one every %s", wrong, time.Duration(r))
		}
	}
}
