package cli

import (
	"fmt"
	"strconv"

	"github.com/einmal/einmal/internal/bench"
)

// showReport writes two tables: the figures against their goals, and what each side did.
func showReport(env *Env, r *bench.Report) error {
	s := env.style()
	m := r.Machine
	_, _ = fmt.Fprintf(env.Stdout, "%s  %s, %d cores (%s), %s, revision %s, load %s before\n\n",
		s.bold("bench "+r.Bench), m.Store, m.Cores, m.CPU, m.Go, m.Revision, m.Load)
	rows := [][]string{{"FIGURE", "VALUE", "ROUNDS", "GOAL", "VERDICT"}}
	for _, l := range r.Lines {
		rows = append(rows, []string{l.What, valueText(l), roundsText(l.Rounds), goalText(l), verdictText(s, l)})
	}
	table(env.Stdout, rows)
	sides := [][]string{{"SIDE", "PER SECOND", "P50 MS", "P95 MS", "P99 MS", "CPU µS", "STORE CPU µS", "OF"}}
	for _, l := range r.Lines {
		for _, side := range []*bench.Side{l.Ours, l.Against} {
			if side != nil {
				sides = append(sides, sideRow(side, l.What))
			}
		}
	}
	if len(sides) > 1 {
		_, _ = fmt.Fprintln(env.Stdout)
		table(env.Stdout, sides)
	}
	return nil
}

func sideRow(side *bench.Side, what string) []string {
	row := []string{side.Name, fmt.Sprintf("%.0f", side.PerSecond), "", "", ""}
	if p := side.Latency; p != nil {
		row = append(row[:2], number(p.P50), number(p.P95), number(p.P99))
	}
	store := ""
	if side.StoreCPU > 0 {
		store = number(side.StoreCPU)
	}
	return append(row, number(side.CPU), store, what)
}

func valueText(l bench.Line) string {
	switch {
	case l.Missing != "":
		return ""
	case l.Unit == "ratio":
		return number(l.Value)
	}
	return number(l.Value) + " " + l.Unit
}

func roundsText(all []float64) string {
	text := ""
	for i, v := range all {
		if i > 0 {
			text += " "
		}
		text += number(v)
	}
	return text
}

func goalText(l bench.Line) string {
	switch {
	case l.Goal == nil:
		return ""
	case l.Goal.AtLeast != nil:
		return "≥ " + number(*l.Goal.AtLeast)
	}
	return "≤ " + number(*l.Goal.AtMost)
}

func verdictText(s style, l bench.Line) string {
	switch l.Verdict {
	case bench.OK:
		return s.good(string(l.Verdict))
	case bench.Missed:
		return s.bad(string(l.Verdict))
	case bench.NoFigure:
		return s.warn(string(l.Verdict)) + ": " + l.Missing
	}
	return string(l.Verdict)
}

// number has three digits that say something.
func number(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
