package smpp

import (
	"errors"
	"fmt"
	"time"
)

// maxRelative is the longest period that RelativeTime writes: months have no fixed length, so days are used,
// and two digits of them.
const maxRelative = 99 * 24 * time.Hour

// RelativeTime writes a period as YYMMDDhhmmss000R (section 7.1.1), rounded down to a second: a message that
// is given up early is better than one that arrives when it is no longer wanted. At least one second, at most
// 99 days; 0 is the empty string, which leaves the period to the message centre.
func RelativeTime(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	s := int64(max(time.Second, min(d, maxRelative)) / time.Second)
	return fmt.Sprintf("0000%02d%02d%02d%02d000R", s/86400, s/3600%24, s/60%60, s%60)
}

// AbsoluteTime writes an instant as YYMMDDhhmmsst00+ (section 7.1.1), in UTC and rounded down to a tenth of a
// second. The zero time is the empty string.
func AbsoluteTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.UTC()
	return fmt.Sprintf("%s%d00+", t.Format("060102150405"), t.Nanosecond()/1e8)
}

// ErrTime says that a text is not a time of section 7.1.1.
var ErrTime = errors.New("smpp: not a time: right are sixteen characters, YYMMDDhhmmsstnnp")

// maxQuarters is the largest difference from UTC, in quarters of an hour.
const maxQuarters = 48

// ParseTime reads a time of either form; a relative one counts from now. Years are those from 2000 on. The empty
// string is the zero time: at once, or not final yet.
func ParseTime(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	var n [8]int // year, month, day, hour, minute, second, tenth, quarters
	if len(s) != 16 || !digits(s, &n) {
		return time.Time{}, ErrTime
	}
	switch s[15] {
	case 'R':
		return now.AddDate(n[0], n[1], n[2]).Add(clockTime(n)), nil
	case '+':
		return absolute(n, -1)
	case '-':
		return absolute(n, 1)
	}
	return time.Time{}, ErrTime
}

// digits reads the first fifteen characters.
func digits(s string, n *[8]int) bool {
	for i, c := range []byte(s[:15]) {
		if c < '0' || c > '9' {
			return false
		}
		field := i / 2
		if i > 12 {
			field = 7 // tenths have one digit
		}
		n[field] = 10*n[field] + int(c-'0')
	}
	return true
}

func clockTime(n [8]int) time.Duration {
	return time.Duration(n[3])*time.Hour + time.Duration(n[4])*time.Minute + time.Duration(n[5])*time.Second
}

// absolute refuses what no calendar has. A local time that is ahead of UTC comes with a plus, so that the
// difference is taken away.
func absolute(n [8]int, sign int) (time.Time, error) {
	t := time.Date(2000+n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], n[6]*1e8, time.UTC)
	if t.Year() != 2000+n[0] || int(t.Month()) != n[1] || t.Day() != n[2] || t.Hour() != n[3] || t.Minute() != n[4] ||
		t.Second() != n[5] || n[7] > maxQuarters {
		return time.Time{}, ErrTime
	}
	return t.Add(time.Duration(sign*n[7]) * 15 * time.Minute), nil
}
