package bench

import "time"

// Report is what a run found.
type Report struct {
	Bench   string    `json:"bench"`
	Store   string    `json:"store"`
	Machine Machine   `json:"machine"`
	Began   time.Time `json:"began"`
	TookMs  int64     `json:"took_ms"`
	Lines   []Line    `json:"lines"`
}

// Line is one figure, with what it was held against and what it should be.
type Line struct {
	What  string  `json:"what"`
	Value float64 `json:"value"`
	// Unit is "ratio" where Value is ours over theirs, the median of the rounds; else ms, MiB, bytes, rows.
	Unit   string    `json:"unit"`
	Rounds []float64 `json:"rounds,omitempty"` // the value of each round
	Goal   *Goal     `json:"goal,omitempty"`
	// Verdict says whether the goal is reached. Missing says why there is no value.
	Verdict Verdict `json:"verdict"`
	Missing string  `json:"missing,omitempty"`
	Ours    *Side   `json:"ours,omitempty"`
	Against *Side   `json:"against,omitempty"`
}

// Goal is a bound: the least or the most that the value may be.
type Goal struct {
	AtLeast *float64 `json:"at_least,omitempty"`
	AtMost  *float64 `json:"at_most,omitempty"`
}

func atLeast(v float64) *Goal { return &Goal{AtLeast: &v} }
func atMost(v float64) *Goal  { return &Goal{AtMost: &v} }

func (g *Goal) reached(v float64) bool {
	return (g.AtLeast == nil || v >= *g.AtLeast) && (g.AtMost == nil || v <= *g.AtMost)
}

// Verdict is a line's end.
type Verdict string

// The verdicts.
const (
	OK       Verdict = "ok"
	Missed   Verdict = "missed"
	NoFigure Verdict = "no figure" // it could not be measured here
	NoGoal   Verdict = "-"         // there is nothing to reach
)

// Side is what one side of a comparison did, over all rounds.
type Side struct {
	Name      string       `json:"name"`
	Count     int          `json:"count"`
	PerSecond float64      `json:"per_second"`
	Latency   *Percentiles `json:"latency_ms,omitempty"`
	// CPU and StoreCPU are microseconds of an item: of the process that does the work, and of the database server's.
	CPU      float64 `json:"cpu_us"`
	StoreCPU float64 `json:"store_cpu_us,omitempty"`
}

// judged returns the line with its verdict.
func (l Line) judged() Line {
	switch {
	case l.Missing != "":
		l.Verdict = NoFigure
	case l.Goal == nil:
		l.Verdict = NoGoal
	case l.Goal.reached(l.Value):
		l.Verdict = OK
	default:
		l.Verdict = Missed
	}
	return l
}

// figure is a line without another side.
func figure(what string, value float64, unit string, goal *Goal) Line {
	return Line{What: what, Value: value, Unit: unit, Goal: goal}.judged()
}

// unmeasured is a line that has no figure, and why.
func unmeasured(what, unit string, goal *Goal, why string) Line {
	return Line{What: what, Unit: unit, Goal: goal, Missing: why}.judged()
}
