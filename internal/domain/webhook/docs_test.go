package webhook

import (
	"os"
	"strings"
	"testing"
)

// The page lists every type that there can be, and every word for what went wrong.
func TestTypesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	words := Types()
	for _, p := range []Problem{Timeout, Unreachable, Unresolved, BadTLS, Broken, Forbidden, Unbuilt} {
		words = append(words, string(p))
	}
	for _, word := range words {
		if !strings.Contains(string(page), "`"+word+"`") {
			t.Errorf("docs/webhooks.md does not have %s", word)
		}
	}
}
