package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/einmal/einmal/internal/ground/fault"
)

// Environment sets members from variables that begin with the prefix. An empty one counts as none, as it comes from
// files of services that pass on what may not be there. passedOver knows those that are no members, by name and value.
// A variable that nobody knows is an error: it was meant to set something.
func (o *Origins) Environment(members []*Member, prefix string, environ []string, passedOver func(name, value string) bool) error {
	named := map[string][]*Member{}
	for _, m := range members {
		if m.Env != "" {
			named[m.Env] = append(named[m.Env], m)
		}
	}
	var wrong []error
	for _, pair := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, prefix) || value == "" {
			continue
		}
		switch at := named[name]; {
		case len(at) == 1:
			if err := at[0].Set(value); err != nil {
				wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
			}
			o.Note(at[0], Origin{Kind: FromEnv, Name: name})
		case len(at) > 1:
			wrong = append(wrong, fmt.Errorf("%s: it could be %s or %s: give one of them another name", name, at[0].Name(), at[1].Name()))
		case !passedOver(name, value):
			wrong = append(wrong, unknown(name, named))
		}
	}
	return errors.Join(wrong...)
}

func unknown(name string, named map[string][]*Member) error {
	best, far := "", 0
	for candidate := range named {
		d := fault.Distance(name, candidate)
		if strings.HasPrefix(candidate, name+"_") { // the rest was forgotten
			d = min(d, 2)
		}
		if best == "" || d < far || d == far && (len(candidate) < len(best) || len(candidate) == len(best) && candidate < best) {
			best, far = candidate, d
		}
	}
	return fmt.Errorf("the variable %s sets nothing: the nearest that does is %s", name, best)
}

// Nearest is the name that was probably meant, of paths such as receipts.zone by their last words; "": none is near.
func Nearest(name string, paths []string) string {
	best, far := "", min(3, len(name))
	for _, path := range paths {
		last := path[strings.LastIndexByte(path, '.')+1:]
		if d := fault.Distance(strings.ToLower(name), last); d < far || d == far && best != "" && len(path) < len(best) {
			best, far = path, d
		}
	}
	return best
}
