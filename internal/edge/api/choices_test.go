package api

import (
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/ground/fault"
)

// What there is to choose from is written as words, and not as a program prints a list.
func TestChoicesAreWords(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct{ method, path, body, says string }{
		{"GET", "/v1/messages?state=gone", "", "the states are held, declined, "},
		{"GET", "/v1/messages/msg_09000000000000000000000000000000?wait=1s&state=gone", "", "the states are held, declined, "},
		{"GET", "/v1/exceptions?kind=gone", "", "the kinds are "},
		{"POST", "/v1/keys", `{"name":"x"}`, "give at least one of send, read, review, admin"},
		{"POST", "/v1/keys", `{"name":"x","scopes":["x"]}`, "the scopes are send, read, review, admin"},
	} {
		p := w.problem(w.call(c.method, c.path, w.admin, c.body), 400, fault.Invalid)
		if all := p.Errors[len(p.Errors)-1].Detail; !strings.Contains(all, c.says) || strings.ContainsAny(all, "[]") {
			t.Errorf("%s: %s", c.path, all)
		}
	}
}
