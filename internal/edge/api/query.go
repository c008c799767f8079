package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/einmal/einmal/internal/ground/fault"
)

// onlyKnownQuery refuses misspelt, repeated and impossible parameters, and says what would be right: a filter
// that is silently left out shows everything. Nor does it let through what no store can take. It comes before the framework's own check, whose words are dropped.
func onlyKnownQuery(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	for _, p := range ctx.Operation().Parameters {
		if p.In == "path" && !storableText(r.PathValue(p.Name)) {
			writeProblem(w, fault.New(fault.NotFound, "there is none of this %s: nothing has U+0000 or broken UTF-8 in its name", p.Name))
			return
		}
	}
	d := &decoder{}
	d.query(r, queryParameters(ctx.Operation()))
	if err := d.fault(); err != nil {
		writeProblem(w, err)
		return
	}
	next(ctx)
}

// storableText says that a store can take the text. What it cannot take would be called a failure of the store.
func storableText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

func queryParameters(op *huma.Operation) []*huma.Param {
	var known []*huma.Param
	for _, p := range op.Parameters {
		if p.In == "query" {
			known = append(known, p)
		}
	}
	return known
}

// query checks all parameters of a request. A query that cannot be read is refused as a whole, since the
// standard library leaves out what it does not understand.
func (d *decoder) query(r *http.Request, known []*huma.Param) {
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		d.wrong("?", "the query cannot be read: write it as name=value&name=value, other characters as %%XX")
	}
	for name, values := range given {
		i := slices.IndexFunc(known, func(p *huma.Param) bool { return p.Name == name })
		switch {
		case i < 0:
			d.wrong(parameterName(name), "%s", unknownParameter(r.Method, name, known))
		case len(values) > 1:
			d.wrong(name, "this parameter is there more than once: give it once")
		case !storableText(values[0]):
			d.wrong(name, "U+0000 and what is no UTF-8 are not allowed here: nothing is stored that has them")
		case values[0] != "":
			d.value(known[i], values[0])
		}
	}
}

func unknownParameter(method, name string, known []*huma.Param) string {
	switch {
	case len(known) > 0:
		names := make([]string, len(known))
		for i, p := range known {
			names[i] = p.Name
		}
		return strings.Replace(unknownMember(name, names), "member", "parameter", 1)
	case method == http.MethodPost:
		return "this call takes no query parameters: members belong in the body, a JSON object"
	}
	return "this call takes no query parameters"
}

// value checks a parameter by what the API's description says of it.
func (d *decoder) value(p *huma.Param, value string) {
	s := p.Schema
	if s.Type == huma.TypeInteger {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || s.Minimum != nil && n < int64(*s.Minimum) || s.Maximum != nil && n > int64(*s.Maximum) {
			d.wrong(p.Name, "expected %s", rangeWords(s))
		}
		return
	}
	if s.MaxLength != nil && utf8.RuneCountInString(value) > *s.MaxLength {
		d.wrong(p.Name, "too long: at most %d characters", *s.MaxLength)
	}
}

func rangeWords(s *huma.Schema) string {
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("a whole number from %.0f to %.0f", *s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		return fmt.Sprintf("a whole number from %.0f", *s.Minimum)
	}
	return "a whole number"
}
