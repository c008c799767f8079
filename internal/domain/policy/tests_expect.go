package policy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/einmal/einmal/internal/domain/message"
)

// The words of expectations are those of decisions. A test of the package that runs tests compares them with the
// decisions' own.
var (
	expectActions = []string{"allow", "suppress"}
	expectClasses = []string{"new_intent", "technical_duplicate", "controlled_retry", "legitimate_repeat"}
)

const (
	expectInvalid = "invalid"
	expectWould   = "would"
	expectOf      = "of"
)

// ExpectedActions are the actions that expectations may name.
func ExpectedActions() []string { return expectActions }

// ExpectedClasses are the classes.
func ExpectedClasses() []string { return expectClasses }

// ExpectedReasons are the reasons: some of their own, and one for each state of the message that exists.
func ExpectedReasons() []string {
	reasons := []string{"no_equivalent", "window_ended", "other_text_is_a_version", "retry_not_permitted", "answer_not_received"}
	for _, s := range message.States() {
		reasons = append(reasons, "same_intent_"+s.String())
	}
	return reasons
}

// expectations reads what becomes of each request.
func (r *reader) expectations(n ast.Node, t *Test) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		r.fail(n, "expected a list, such as [allow new_intent, suppress technical_duplicate]")
		return
	}
	for i, v := range s.Values {
		t.Expect = append(t.Expect, r.expectation(v, i))
	}
	if sends := t.sends(); len(s.Values) != sends {
		r.fail(n, "%d expectations for %d requests: write one for each request, in their order", len(s.Values), sends)
	}
}

// expectation reads the words for the request after the first n: invalid, or [would] ACTION [CLASS [REASON]] [of N].
func (r *reader) expectation(v ast.Node, n int) (e Expectation) {
	text, ok := word(v)
	e.Line, _ = position(v)
	e.Text = strings.Join(strings.Fields(text), " ")
	if !ok || e.Text == "" {
		r.fail(v, "expected words, such as allow new_intent, suppress technical_duplicate same_intent_delivered, or invalid")
		return e
	}
	words := strings.Fields(text)
	if e.Invalid = e.Text == expectInvalid; e.Invalid {
		return e
	}
	if words[0] == expectWould {
		e.Would, words = true, words[1:]
	}
	if i := slices.Index(words, expectOf); i >= 0 && i == len(words)-2 {
		e.Of = r.earlier(v, words[i+1], n)
		words = words[:i]
	}
	for i, part := range []struct {
		what  string
		known []string
		to    *string
	}{{"action", slices.Concat(expectActions, []string{expectInvalid}), &e.Action}, {"class", expectClasses, &e.Class}, {"reason", ExpectedReasons(), &e.Reason}} {
		if i < len(words) {
			*part.to = r.expected(v, part.what, words[i], part.known)
		} else if i == 0 {
			r.fail(v, "an action is missing: write allow or suppress after would")
		}
	}
	if len(words) > 3 {
		r.fail(v, "too many words: write an action, a class and a reason, and of which request the message is, such as of 1")
	}
	return e
}

func (r *reader) expected(v ast.Node, what, w string, known []string) string {
	if !slices.Contains(known, w) || w == expectInvalid {
		r.fail(v, "unknown %s %s: %s", what, quoted(w), suggestion(w, known))
	}
	return w
}

// earlier reads which request made the message.
func (r *reader) earlier(v ast.Node, w string, n int) int {
	i, err := strconv.Atoi(w)
	if err != nil || i < 1 || i > n {
		r.fail(v, "of which request: they are counted from 1, and %d came before this one", n)
	}
	return i
}
