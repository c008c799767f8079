package deploy_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The part of PromQL that the rules and the dashboard are written in: sums over labels, functions, selectors with
// matchers and ranges, comparisons, quotients and "and", "or". What is not of it is refused, and so is a metric or a label
// that the gateway does not have.
type promql struct {
	tokens []string
	known  map[string][]string // labels by metric
	used   []string            // metrics
	labels []string            // by which is grouped
}

var promToken = regexp.MustCompile(`\s*("(?:[^"\\]|\\.)*"|[A-Za-z_:$][A-Za-z0-9_:]*|[0-9]+(?:\.[0-9]+)?[smhd]?|=~|!~|!=|==|>=|<=|[-+*/(){}\[\],<>=])`)

// checkExpr parses an expression and returns the metrics that it names.
func checkExpr(expr string, known map[string][]string) ([]string, error) {
	p := &promql{known: known}
	for rest := expr; strings.TrimSpace(rest) != ""; {
		m := promToken.FindStringSubmatchIndex(rest)
		if m == nil || m[0] != 0 {
			return nil, fmt.Errorf("cannot read %q", rest)
		}
		p.tokens = append(p.tokens, rest[m[2]:m[3]])
		rest = rest[m[1]:]
	}
	if err := p.expr(); err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	if len(p.tokens) > 0 {
		return nil, fmt.Errorf("%s: %q is too much", expr, p.tokens)
	}
	return p.used, p.grouped()
}

// grouped finds labels that none of the metrics has.
func (p *promql) grouped() error {
	all := []string{"instance", "job"}
	for _, name := range p.used {
		all = append(all, p.known[name]...)
	}
	for _, label := range p.labels {
		if !slices.Contains(all, label) {
			return fmt.Errorf("%v have no label %s", p.used, label)
		}
	}
	return nil
}

func (p *promql) next() string {
	if len(p.tokens) == 0 {
		return ""
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	return t
}

func (p *promql) peek(tokens ...string) bool {
	return len(p.tokens) > 0 && slices.Contains(tokens, p.tokens[0])
}

func (p *promql) want(token string) error {
	if got := p.next(); got != token {
		return fmt.Errorf("%q where %q is wanted", got, token)
	}
	return nil
}

// expr is operands with binary operators between them.
func (p *promql) expr() error {
	for {
		if err := p.operand(); err != nil {
			return err
		}
		if !p.peek("+", "-", "*", "/", "==", "!=", ">", "<", ">=", "<=", "and", "or", "unless") {
			return nil
		}
		p.next()
	}
}

var (
	aggregations = []string{"sum", "max", "min", "count", "avg"}
	functions    = []string{"rate", "increase", "vector"}
	number       = regexp.MustCompile(`^[0-9.]+$`)
	duration     = regexp.MustCompile(`^([0-9]+[smhd]|\$__rate_interval)$`)
	identifier   = regexp.MustCompile(`^[a-z_]+$`)
)

func (p *promql) operand() error {
	t := p.next()
	switch {
	case t == "(":
		return p.closed()
	case number.MatchString(t):
		return nil
	case slices.Contains(aggregations, t):
		if p.peek("by") {
			p.next()
			if err := p.words(); err != nil {
				return err
			}
		}
		if err := p.want("("); err != nil {
			return err
		}
		return p.closed()
	case slices.Contains(functions, t):
		if err := p.want("("); err != nil {
			return err
		}
		return p.closed()
	case identifier.MatchString(t):
		return p.selector(t)
	}
	return fmt.Errorf("%q is no operand", t)
}

func (p *promql) closed() error {
	if err := p.expr(); err != nil {
		return err
	}
	return p.want(")")
}

func (p *promql) words() error {
	if err := p.want("("); err != nil {
		return err
	}
	for {
		p.labels = append(p.labels, p.next())
		if p.peek(")") {
			p.next()
			return nil
		}
		if err := p.want(","); err != nil {
			return err
		}
	}
}

// selector is a metric with its matchers and its range.
func (p *promql) selector(name string) error {
	labels, ok := p.known[name]
	if !ok {
		return fmt.Errorf("there is no metric %s", name)
	}
	p.used = append(p.used, name)
	if p.peek("{") {
		for p.next(); ; {
			label := p.next()
			if !slices.Contains(labels, label) && label != "job" && label != "instance" {
				return fmt.Errorf("%s has no label %s", name, label)
			}
			if op := p.next(); !slices.Contains([]string{"=", "!=", "=~", "!~"}, op) {
				return fmt.Errorf("%q is no matcher", op)
			}
			if value := p.next(); !strings.HasPrefix(value, `"`) {
				return fmt.Errorf("%q is no text", value)
			}
			if p.peek("}") {
				p.next()
				break
			}
			if err := p.want(","); err != nil {
				return err
			}
		}
	}
	if !p.peek("[") {
		return nil
	}
	p.next()
	if d := p.next(); !duration.MatchString(d) {
		return fmt.Errorf("%q is no duration", d)
	}
	return p.want("]")
}

// The check refuses what Prometheus would, and what would never fire.
func TestExpressionsAreChecked(t *testing.T) {
	known := map[string][]string{"einmal_a_total": {"connection"}, "up": {}}
	for expr, good := range map[string]bool{
		`sum by (connection) (rate(einmal_a_total{job="x",connection=~"a.*"}[5m])) > 0.1`: true,
		`up == 0 and up > 0`:                       true,
		`(count(up) or vector(0)) / 2`:             true,
		`sum(rate(einmal_b_total[5m]))`:            false,
		`rate(einmal_a_total[5x])`:                 false,
		`rate(einmal_a_total{lane="a"}[5m])`:       false,
		`sum by (lane) (rate(einmal_a_total[5m]))`: false,
		`sum(rate(einmal_a_total[5m])`:             false,
		`sum(rate(einmal_a_total[5m])))`:           false,
		`einmal_a_total >`:                         false,
		`einmal_a_total{connection=a}`:             false,
		`summe(einmal_a_total)`:                    false,
		`einmal_a_total ! 1`:                       false,
	} {
		if _, err := checkExpr(expr, known); (err == nil) != good {
			t.Errorf("%s: %v", expr, err)
		}
	}
}
