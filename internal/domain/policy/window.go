package policy

import (
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/einmal/einmal/internal/domain/message"
)

// maxWindow is the longest window. Registers are kept for as long as one is open.
const maxWindow = 90 * 24 * time.Hour

// minWindow is the shortest one. Below a second it would hold back nothing that a person does.
const minWindow = time.Second

// window reads a window of either form.
func (r *reader) window(n ast.Node) Window {
	if _, ok := n.(ast.MapNode); !ok {
		return Window{Duration: r.duration(n)}
	}
	var w Window
	r.fields(n, n, "{while: [delivered], at_most: 30d}", []field{
		{"while", "the final states that keep the window open, such as while: [delivered], or while: [] for none", func(n ast.Node) { w.While = r.states(n) }},
		{"at_most", "when the window ends in any case, such as at_most: 30d", func(n ast.Node) { w.AtMost = r.duration(n) }},
	})
	return w
}

// states reads the states that keep a window open.
func (r *reader) states(n ast.Node) []message.State {
	var final []string
	for _, s := range message.States() {
		if message.CanBeFinal(s) {
			final = append(final, s.String())
		}
	}
	states := []message.State{}
	r.list(n, "[delivered, undelivered]", func(n ast.Node) {
		w, _ := word(n)
		s, ok := message.ParseState(w)
		switch {
		case ok && !message.CanBeFinal(s):
			r.fail(n, "%s is not a final state: something is still owed in it, so it always keeps the window open; leave it out", w)
		case ok:
			states = append(states, s)
		default:
			r.oneOf(n, "state", final)
		}
	})
	return states
}

// duration reads the length of a window.
func (r *reader) duration(n ast.Node) time.Duration {
	w, ok := word(n)
	d, readable := parseDuration(w)
	switch {
	case !ok || !readable:
		r.fail(n, "not a duration: write a whole number and a unit of s, m, h or d, such as 15m, 36h or 7d")
	case d < minWindow:
		r.fail(n, "too short: a window is at least 1s")
	case d > maxWindow:
		r.fail(n, "too long: a window ends after at most 90d")
	default:
		return d
	}
	return 0
}

var units = []struct {
	letter string
	length time.Duration
}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}

// parseDuration reads whole numbers with units, the larger unit first: 7d, 1h30m.
func parseDuration(s string) (total time.Duration, ok bool) {
	rest := s
	for _, u := range units {
		number, after, found := strings.Cut(rest, u.letter)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return 0, false
		}
		// Twice the longest window is far too long as well, and four of it do not overflow.
		length := 2 * maxWindow
		if n < uint64(length/u.length) {
			length = time.Duration(n) * u.length
		}
		total, rest = total+length, after
	}
	return total, rest == "" && s != ""
}
