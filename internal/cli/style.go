package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// style colours words, or not.
type style struct{ on bool }

// style is colourful on a terminal, unless NO_COLOR is set (no-color.org).
func (e *Env) style() style { return style{e.Terminal && e.Getenv("NO_COLOR") == ""} }

func (s style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) good(text string) string  { return s.paint("32", text) }
func (s style) warn(text string) string  { return s.paint("33", text) }
func (s style) bad(text string) string   { return s.paint("31", text) }
func (s style) faint(text string) string { return s.paint("2", text) }
func (s style) bold(text string) string  { return s.paint("1", text) }

// state colours a state by what it means for whoever waits.
func (s style) state(name string) string {
	switch name = clean(name); name {
	case "delivered", "allow":
		return s.good(name)
	case "undelivered", "rejected", "failed", "expired", "declined":
		return s.bad(name)
	case "unknown", "retry_due", "held", "suppress":
		return s.warn(name)
	}
	return name
}

// table writes rows in columns. The last column is not padded, and only it may be coloured.
func table(w io.Writer, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row[:len(row)-1] {
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		_, _ = fmt.Fprintln(w, strings.TrimRight(line.String()+row[len(row)-1], " "))
	}
}

// compact writes JSON on one line.
func compact(env *Env, v any) error { return json.NewEncoder(env.Stdout).Encode(v) }

// clean keeps what came from outside from steering the terminal, and from reading as something else than it is:
// control characters (Unicode category Cc) but the tab, what changes the direction of text or cannot be seen
// (Cf), and breaks of lines (Zl, Zp).
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return '�'
		}
		return r
	}, s)
}
