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
	p, wrong := policy.ParseOwn(c.name(), source)
	if wrong != nil {
		showWrong(env, wrong)
		return errWrongFile(wrong)
	}
	results := trial.Run(p)
	if c.JSON {
		err = c.printJSON(env, p, results)
	} else {
		showTests(env, c.name(), p, results)
	}
	if err == nil && failures(results) > 0 {
		err = errFailedTests(results)
	}
	return err
}

func failures(results []trial.Result) (failed int) {
	for i := range results {
		if results[i].Failed() {
			failed++
		}
	}
	return failed
}

func errFailedTests(results []trial.Result) error {
	return &failure{code: exitFailed, text: fmt.Sprintf("%d of %s failed", failures(results), count(len(results), "test"))}
}

func (c *policyTestCmd) printJSON(env *Env, p *policy.Policy, results []trial.Result) error {
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
	}{c.name(), p.ID(), failures(results) == 0, all})
}

// showTests lists the tests, and under each what came out otherwise, at which line and why.
func showTests(env *Env, file string, p *policy.Policy, results []trial.Result) {
	if len(results) == 0 { // nothing is wrong with it, and it may come into force
		_, _ = fmt.Fprintf(env.Stdout, "%s has no tests: what nobody has tried is not known to do what it should; docs/policies.md shows how to write some\n", p.ID())
		return
	}
	s := env.style()
	_, _ = fmt.Fprintf(env.Stdout, "%s: %s\n", p.ID(), count(len(results), "test"))
	for _, r := range results {
		mark := s.good("ok  ")
		if r.Failed() {
			mark = s.bad("FAIL")
		}
		_, _ = fmt.Fprintf(env.Stdout, "  %s  %s\n", mark, clean(r.Test.Name))
		for i := range r.Differences {
			showDifference(env, file, &r.Differences[i])
		}
	}
	if failures(results) == 0 {
		_, _ = fmt.Fprintln(env.Stdout, s.good("all of them pass"))
	}
}

func showDifference(env *Env, file string, d *trial.Difference) {
	s, what := env.style(), "news"
	if d.Send > 0 {
		what = fmt.Sprintf("request %d", d.Send)
	}
	_, _ = fmt.Fprintf(env.Stdout, "        %s %s\n          expected  %s\n          came out  %s\n",
		s.bold(fmt.Sprintf("%s:%d:", clean(file), d.Line)), what, clean(d.Want), clean(d.Got))
	for _, m := range d.Wrong { // a line for each, as compilers write, so that editors find the place
		_, _ = fmt.Fprintf(env.Stdout, "          because   %s %s: %s\n",
			s.bold(fmt.Sprintf("%s:%d:%d:", clean(file), m.Line, m.Column)), clean(m.Member), clean(m.Detail))
	}
	if len(d.Wrong) == 0 {
		_, _ = fmt.Fprintf(env.Stdout, "          because   %s\n", clean(d.Why))
	}
}
