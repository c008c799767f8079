package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// proseWidth is where sentences are broken on a terminal. Into files and pipes they go whole, a line each.
const proseWidth = 100

// paragraph prints a sentence or a few.
func (e *Env) paragraph(text string) { e.hanging("", text) }

// hanging prints a paragraph behind a lead, under which it goes on.
func (e *Env) hanging(lead, text string) {
	margin := utf8.RuneCountInString(lead)
	if e.Terminal {
		text = strings.Join(wrap(text, proseWidth-margin), "\n"+strings.Repeat(" ", margin))
	}
	_, _ = fmt.Fprintln(e.Stdout, lead+text)
}

// wrap breaks a text at spaces into lines of at most width characters, colours not counted. A longer word has a
// line of its own.
func wrap(text string, width int) []string {
	var lines []string
	line, used := "", 0
	for word := range strings.SplitSeq(text, " ") {
		n := visible(word)
		if line != "" && used+1+n > width {
			lines = append(lines, line)
			line, used = word, n
			continue
		}
		if line != "" {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+n
	}
	return append(lines, line)
}

// visible is how many characters of a word are seen: not those of a colour.
func visible(word string) int {
	n, colour := 0, false
	for _, r := range word {
		switch {
		case r == '\x1b':
			colour = true
		case colour:
			colour = r != 'm'
		default:
			n++
		}
	}
	return n
}
