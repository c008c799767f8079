// Package settings reads a configuration that is one struct: its tags say what a member is called in the file, and one
// walk over it gives every scalar its environment variable, its place in the file, its documentation, and what is shown
// of it.
//
// Tags: `yaml:"name"` as the decoder has it; `doc:"…"` in a few words; `one:"a b"` for the values that it may have;
// `secret:"value"` for what is shown as a reference or not at all, `secret:"url"` for an address that may hold a password.
package settings

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// Member is a scalar of the configuration, or a list that has no variable of its own.
type Member struct {
	Path   []string
	Env    string // its variable; "": it has none
	Doc    string
	One    []string // the values that it may have; empty: any that its type has
	Secret string
	Unset  bool // it is empty and would be left out of a file
	value  reflect.Value
	commit func() // writes the value back where it is held by a map
}

// Name is the member as people write it.
func (m *Member) Name() string { return strings.Join(m.Path, ".") }

// key tells members apart, also where a name has a dot in it.
func (m *Member) key() string { return strings.Join(m.Path, "\x00") }

// Set reads a text as the file's decoder would read it.
func (m *Member) Set(text string) error {
	if len(m.One) > 0 && !slices.Contains(m.One, text) {
		return errors.New("write " + orList(m.One))
	}
	if err := setText(m.value, text); err != nil {
		return err
	}
	m.commit()
	return nil
}

// Text is the value as Set reads it.
func (m *Member) Text() string { return text(m.value) }

// Check finds a member of a configuration that has none of the values that it may have.
func Check(config any) error {
	for _, m := range Members(config, "") {
		if len(m.One) > 0 && !m.Unset && !slices.Contains(m.One, m.Text()) {
			return fmt.Errorf("%s: write %s", m.Name(), orList(m.One))
		}
	}
	return nil
}

func setText(v reflect.Value, text string) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return errors.New("write true or false")
		}
		v.SetBool(text == "true")
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return errors.New("not a number: write it like 10")
		}
		v.SetInt(int64(n))
	default: // a list of words, see visitLeaf
		words := strings.Split(text, ",")
		for i := range words {
			words[i] = strings.TrimSpace(words[i])
		}
		v.Set(reflect.ValueOf(words))
	}
	return nil
}

func text(v reflect.Value) string {
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		b, err := m.MarshalText()
		if err == nil {
			return string(b)
		}
	}
	if words, ok := v.Interface().([]string); ok {
		return strings.Join(words, ",")
	}
	if v.Kind() == reflect.Slice {
		b, err := yaml.MarshalWithOptions(v.Interface(), yaml.Flow(true))
		if err == nil {
			return strings.TrimSpace(string(b))
		}
	}
	return fmt.Sprint(v.Interface())
}

func orList(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
