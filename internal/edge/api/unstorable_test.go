package api

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/einmal/einmal/internal/ground/fault"
)

var inBraces = regexp.MustCompile(`\{[a-z]+\}`)

// U+0000 and broken UTF-8 in an address are the caller's mistake on every route, whatever a store would say to them: in a
// parameter they are refused with its name, and what has them in its place in the path does not exist.
func TestUnstorableAddresses(t *testing.T) {
	w := newWorld(t)
	parameters, places := 0, 0
	for path, item := range w.api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op == nil {
				continue
			}
			there := inBraces.ReplaceAllString(path, w.store.message.ID.String())
			for _, bad := range []string{"%00", "a%00b", "%ff", "%c3%28"} {
				if there != path {
					places++
					w.problem(w.call(op.Method, inBraces.ReplaceAllString(path, bad), w.admin, "{}"), http.StatusNotFound, fault.NotFound)
				}
				for _, p := range queryParameters(op) {
					parameters++
					got := w.problem(w.call(op.Method, there+"?"+p.Name+"="+bad, w.admin, "{}"), http.StatusBadRequest, fault.Invalid)
					if len(got.Errors) != 1 || got.Errors[0].Parameter != p.Name {
						t.Errorf("%s %s?%s=%s: %+v", op.Method, path, p.Name, bad, got.Errors)
					}
				}
			}
		}
	}
	if parameters < 100 || places < 100 {
		t.Errorf("only %d parameters and %d places were tried", parameters, places)
	}
}
