package smpp_test

import (
	"errors"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/smpp"
)

func TestRelativeTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                      "",
		time.Millisecond:       "000000000001000R",
		90*time.Second + 999e6: "000000000130000R",
		24 * time.Hour:         "000001000000000R",
		400 * 24 * time.Hour:   "000099000000000R",
		25*time.Hour + 61*60e9: "000001020100000R",
	} {
		if got := smpp.RelativeTime(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestAbsoluteTime(t *testing.T) {
	at := time.Date(2026, 10, 3, 19, 45, 0, 370e6, time.FixedZone("", 2*3600))
	if got := smpp.AbsoluteTime(at); got != "261003174500300+" {
		t.Errorf("%q", got)
	}
	if got := smpp.AbsoluteTime(time.Time{}); got != "" {
		t.Errorf("no time: %q", got)
	}
}

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	utc := func(month time.Month, day, hour, minute, second, ms int) time.Time {
		return time.Date(2026, month, day, hour, minute, second, ms*1e6, time.UTC)
	}
	for s, want := range map[string]time.Time{
		"":                 {},
		"261003174500000+": utc(10, 3, 17, 45, 0, 0),
		"261003174500908+": utc(10, 3, 15, 45, 0, 900), // two hours ahead of UTC
		"261003174500022-": utc(10, 3, 23, 15, 0, 0),   // five and a half behind
		"000001000000000R": utc(2, 1, 12, 0, 0, 0),
		"000000010203000R": utc(1, 31, 13, 2, 3, 0),
		"010203000000000R": now.AddDate(1, 2, 3),
	} {
		if got, err := smpp.ParseTime(s, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"2610031745", "261003174500000", "261003174500000Z", "2610031745000000+", "261303174500000+",
		"260229000000000+", "261003240000000+", "261003176000000+", "261003174560000+", "261003174500049+", "26100317450000x+",
		"-61003174500000+", "26100317450000 +"} {
		if got, err := smpp.ParseTime(s, now); !errors.Is(err, smpp.ErrTime) {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
}
