package settings

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Shown is what may be seen of a member.
type Shown struct {
	Path   []string `json:"-"`
	Member string   `json:"member"`
	Value  string   `json:"value"`
	Env    string   `json:"env,omitempty"`
	Doc    string   `json:"doc,omitempty"`
	One    []string `json:"one_of,omitempty"` // the values that it may have
	Origin Origin   `json:"origin"`
	Unset  bool     `json:"unset,omitempty"` // it is empty, and a file would leave it out
	form   form
}

// form is how a value is written in a file.
type form int

const (
	plain form = iota // a number, a word of YAML, or YAML already
	words             // a text
	list              // words with commas between them
)

func formOf(m *Member) form {
	switch m.value.Interface().(type) {
	case string:
		return words
	case []string:
		return list
	}
	return plain
}

func (s *Shown) yaml() string {
	switch s.form {
	case words:
		return scalar(s.Value)
	case list:
		return "[" + s.Value + "]"
	}
	return s.Value
}

// Show lists all members, secrets masked.
func (o *Origins) Show(members []*Member) []Shown {
	var all []Shown
	for _, m := range members {
		s := Shown{Path: m.Path, Member: m.Name(), Env: m.Env, Doc: m.Doc, One: m.One, Origin: o.Of(m), Unset: m.Unset, form: formOf(m)}
		if !m.Unset {
			s.Value = Mask(m.Secret, m.Text())
		}
		all = append(all, s)
	}
	return all
}

// masked stands for what is not shown.
const masked = "masked"

// Mask hides what is secret of a value. A reference is none.
func Mask(kind, value string) string {
	switch {
	case kind == "" || value == "" || strings.HasPrefix(value, "env:") || strings.HasPrefix(value, "file:"):
		return value
	case kind == "url":
		return maskURL(value)
	}
	return masked
}

// maskURL hides the passwords of an address: of its user, and of the parameters by which drivers take one. An address
// that cannot be read may hold one anywhere.
func maskURL(value string) string {
	u, err := url.Parse(value)
	if err != nil {
		return masked
	}
	if u.User != nil {
		if _, has := u.User.Password(); has {
			u.User = url.UserPassword(u.User.Username(), masked)
		}
	}
	q := u.Query()
	for _, name := range []string{"password", "sslpassword"} {
		if q.Has(name) {
			q.Set(name, masked)
			u.RawQuery = q.Encode()
		}
	}
	return u.String()
}

// YAML writes what is set as a file, each value with a comment that says where it comes from.
func YAML(all []Shown) string {
	var b strings.Builder
	var open []string
	for i, s := range all {
		if s.Unset || spelledOut(s, all[i+1:]) {
			continue
		}
		shared := 0
		for shared < len(s.Path)-1 && shared < len(open) && open[shared] == s.Path[shared] {
			shared++
		}
		for depth := shared; depth < len(s.Path)-1; depth++ {
			b.WriteString(indent(depth) + scalar(s.Path[depth]) + ":\n")
		}
		open = s.Path[:len(s.Path)-1]
		b.WriteString(indent(len(open)) + scalar(s.Path[len(open)]) + ": " + s.yaml() + "  # " + s.Origin.String() + "\n")
	}
	return b.String()
}

// spelledOut reports whether a member that may be one word has members of its own that are set: a file has either.
func spelledOut(s Shown, rest []Shown) bool {
	for _, next := range rest {
		if len(next.Path) <= len(s.Path) || !slices.Equal(next.Path[:len(s.Path)], s.Path) {
			return false
		}
		if !next.Unset {
			return true
		}
	}
	return false
}

func indent(depth int) string { return strings.Repeat("  ", depth) }

// scalar writes a text so that it is read as one: 069 without quotes might be a number.
func scalar(s string) string {
	b, err := yaml.MarshalWithOptions(s, yaml.Flow(true))
	written := strings.TrimSpace(string(b))
	var back any
	if err == nil && !strings.Contains(written, "\n") && yaml.Unmarshal(b, &back) == nil && back == any(s) && (s == "" || s[0] < '0' || s[0] > '9') {
		return written
	}
	quoted, err := json.Marshal(s) // a string of JSON is one of YAML
	if err != nil {
		return `""`
	}
	return string(quoted)
}
