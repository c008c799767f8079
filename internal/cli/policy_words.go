package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/einmal/einmal/internal/domain/policy"
)

// showPolicy says what a file means: for each purpose what makes a repeat, and for how long.
func showPolicy(env *Env, p *policy.Policy) {
	s := env.style()
	_, _ = fmt.Fprintf(env.Stdout, "%s: %s, %s, %s, mode %s\n\n", s.good(p.ID()),
		count(len(p.Purposes), "purpose"), count(len(p.Mapping), "rule"), count(len(p.Tests), "test"), p.Mode)
	held, unnamed := "IS HELD BACK", "sent and monitored"
	if p.Mode == policy.Monitor {
		held = "WOULD BE HELD BACK"
	}
	if p.RefuseUnnamed {
		unnamed = "refused"
	}
	rows := [][]string{{"PURPOSE", "KIND", "A REPEAT HAS THE SAME DESTINATION AND", held}}
	for _, name := range slices.Sorted(maps.Keys(p.Purposes)) {
		u := p.Purposes[name]
		rows = append(rows, []string{name, string(u.Kind), keyList(u.Key), windowWords(u.Window)})
	}
	rows = append(rows, []string{"(none named)", "", "", unnamed})
	table(env.Stdout, rows)
	if len(p.Mapping) == 0 {
		return
	}
	_, _ = fmt.Fprintln(env.Stdout)
	rules := [][]string{{"RULE", "LOOKS AT", "MAKES"}}
	for _, r := range p.Mapping {
		rules = append(rules, []string{r.Name, placeWords(r.When), r.Purpose})
	}
	table(env.Stdout, rules)
}

// placeWords lists what a rule's conditions look at.
func placeWords(conditions []policy.Condition) string {
	if len(conditions) == 0 {
		return "nothing: it is for all"
	}
	words := make([]string, len(conditions))
	for i, c := range conditions {
		words[i] = strings.TrimSpace(string(c.Place.Kind) + " " + c.Place.Name)
	}
	return strings.Join(words, ", ")
}

func keyList(parts []policy.KeyPart) string {
	words := make([]string, len(parts))
	for i, p := range parts {
		words[i] = string(p)
	}
	return strings.Join(words, ", ")
}

func windowWords(w policy.Window) string {
	if !w.EventBound() {
		return "for " + length(w.Duration)
	}
	states := []string{"under way"}
	for _, s := range w.While {
		states = append(states, s.String())
	}
	return "while the first is " + strings.Join(states, ", ") + "; at most " + length(w.AtMost)
}

// length writes a duration as policy files do.
func length(d time.Duration) string {
	var b strings.Builder
	for _, u := range []struct {
		letter string
		of     time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}} {
		if n := d / u.of; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.letter)
			d -= n * u.of
		}
	}
	return b.String()
}
