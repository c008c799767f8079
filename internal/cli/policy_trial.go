package cli

import (
	"fmt"

	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/domain/trial"
)

type policyTestCmd struct {
	policyFile
	JSON bool `name:"json" help:"Print JSON."`
}

// testResult is a test as JSON.
type testResult struct {
	Name        string           `json:"name"`
	Line        int              `json:"line"`
	OK          bool             `json:"ok"`
	Differences []testDifference `json:"differences"`
}

type testDifference struct {
	Line int    `json:"line"`
	Send int    `json:"send,omitempty"` // the request, from 1
	Want string `json:"want"`
	Got  string `json:"got"`
	Why  string `json:"why"`
	// Wrong is for what the gateway would refuse the request.
	Wrong []wrongMember `json:"wrong,omitempty"`
}

type wrongMember struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Member string `json:"member"`
	Detail string `json:"detail"`
}

func differenceOf(d *trial.Difference) testDifference {
	out := testDifference{Line: d.Line, Send: d.Send, Want: d.Want, Got: d.Got, Why: d.Why}
	for _, m := range d.Wrong {
		out.Wrong = append(out.Wrong, wrongMember(m))
	}
	return out
}

func (c *policyTestCmd) Run(env *Env) error {
	source, err := c.read()
	if err != nil {
		return err
	}
	p, wrong := policy.Parse(c.name(), source)
	if wrong != nil {
		showWrong(env, wrong)
		return errWrongFile(wrong)
	}
	if len(p.Tests) == 0 {
		return &failure{code: exitFailed, text: c.name() + " has no tests: what nobody has tried is not known to do what it should",
			next: "write some, as docs/policies.md shows"}
	}
	results := trial.Run(p)
	failed := 0
	for i := range results {
		if results[i].Failed() {
			failed++
		}
	}
	if c.JSON {
		err = c.printJSON(env, p, results, failed)
	} else {
		c.show(env, p, results, failed)
	}
	if err == nil && failed > 0 {
		err = &failure{code: exitFailed, text: fmt.Sprintf("%d of %s failed", failed, count(len(results), "test"))}
	}
	return err
}

func (c *policyTestCmd) printJSON(env *Env, p *policy.Policy, results []trial.Result, failed int) error {
	all := make([]testResult, len(results))
	for i, r := range results {
		all[i] = testResult{Name: r.Test.Name, Line: r.Test.Line, OK: !r.Failed(), Differences: []testDifference{}}
		for j := range r.Differences {
			all[i].Differences = append(all[i].Differences, differenceOf(&r.Differences[j]))
		}
	}
	return compact(env, struct {
		File   string       `json:"file"`
		Policy string       `json:"policy"`
		OK     bool         `json:"ok"`
		Tests  []testResult `json:"tests"`
	}{c.name(), p.ID(), failed == 0, all})
}

// show lists the tests, and under each what came out otherwise, at which line and why.
func (c *policyTestCmd) show(env *Env, p *policy.Policy, results []trial.Result, failed int) {
	s := env.style()
	_, _ = fmt.Fprintf(env.Stdout, "%s: %s\n", p.ID(), count(len(results), "test"))
	for _, r := range results {
		mark := s.good("ok  ")
		if r.Failed() {
			mark = s.bad("FAIL")
		}
		_, _ = fmt.Fprintf(env.Stdout, "  %s  %s\n", mark, clean(r.Test.Name))
		for _, d := range r.Differences {
			what := "news"
			if d.Send > 0 {
				what = fmt.Sprintf("request %d", d.Send)
			}
			_, _ = fmt.Fprintf(env.Stdout, "        %s %s\n          expected  %s\n          came out  %s\n",
				s.bold(fmt.Sprintf("%s:%d:", clean(c.name()), d.Line)), what, clean(d.Want), clean(d.Got))
			for _, m := range d.Wrong { // a line for each, as compilers write, so that editors find the place
				_, _ = fmt.Fprintf(env.Stdout, "          because   %s %s: %s\n", s.bold(fmt.Sprintf("%s:%d:%d:", clean(c.name()), m.Line, m.Column)), clean(m.Member), clean(m.Detail))
			}
			if len(d.Wrong) == 0 {
				_, _ = fmt.Fprintf(env.Stdout, "          because   %s\n", clean(d.Why))
			}
		}
	}
	if failed == 0 {
		_, _ = fmt.Fprintln(env.Stdout, s.good("all of them pass"))
	}
}
