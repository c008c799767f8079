package settings

import (
	"encoding"
	"reflect"
	"slices"
	"strings"
)

// Members lists what a configuration has, in the order of its struct. config is a pointer to it; members of maps are
// those that are there.
func Members(config any, prefix string) []*Member {
	w := walker{prefix: prefix}
	w.visit(reflect.ValueOf(config).Elem(), place{commit: func() {}})
	return w.members
}

type walker struct {
	prefix  string
	members []*Member
}

// place is where a value is, and what its field says of it.
type place struct {
	path   []string
	tag    reflect.StructTag
	commit func()
}

func (p place) child(name string, tag reflect.StructTag) place {
	return place{append(slices.Clone(p.path), name), tag, p.commit}
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// visit takes a value apart. A struct that is also written as one word has a variable of its own beside its members'.
func (w *walker) visit(v reflect.Value, at place) {
	oneWord := reflect.PointerTo(v.Type()).Implements(textUnmarshaler)
	switch {
	case v.Kind() == reflect.Struct:
		if oneWord {
			w.leaf(v, at)
		}
		w.fields(v, at)
	case v.Kind() == reflect.Map && !oneWord:
		w.entries(v, at)
	default:
		w.leaf(v, at)
	}
}

func (w *walker) fields(v reflect.Value, at place) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		w.visit(v.Field(i), at.child(name, field.Tag))
	}
}

// entries visits a copy of each value: what a map holds cannot be changed in place.
func (w *walker) entries(v reflect.Value, at place) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		held := reflect.New(v.Type().Elem()).Elem()
		held.Set(v.MapIndex(key))
		entry := at.child(key.String(), at.tag)
		entry.commit = func() {
			v.SetMapIndex(key, held)
			at.commit()
		}
		w.visit(held, entry)
	}
}

func (w *walker) leaf(v reflect.Value, at place) {
	_, options, _ := strings.Cut(at.tag.Get("yaml"), ",")
	m := &Member{
		Path: at.path, Doc: at.tag.Get("doc"), One: strings.Fields(at.tag.Get("one")), Secret: at.tag.Get("secret"),
		Unset: v.IsZero() && strings.Contains(options, "omitempty"), value: v, commit: at.commit,
	}
	list := v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.String
	if !list {
		m.Env = Variable(w.prefix, at.path)
	}
	w.members = append(w.members, m)
}

// Variable is a member's environment variable: its path in capitals, with _ for whatever a variable may not hold.
func Variable(prefix string, path []string) string {
	return prefix + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, strings.Join(path, "_"))
}
