package policy

import (
	"errors"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/ground/fault"
)

func brought(n int, source string) Version { return Version{"shop", n, []byte(source)} }

func head(name string, n int) Version { return Version{Name: name, Version: n} }

// covers: D6, X3
func TestSuccession(t *testing.T) {
	for name, c := range map[string]struct {
		brought Version
		known   Known
		changes bool
		err     error
		says    string
	}{
		"the first":              {brought(1, "a"), Known{}, true, nil, ""},
		"the next":               {brought(8, "a"), Known{Head: head("shop", 7), Newest: 7}, true, nil, ""},
		"the same":               {brought(7, "a"), Known{Head: head("shop", 7), Stored: []byte("a"), Newest: 7}, false, nil, ""},
		"other content":          {brought(7, "b"), Known{Head: head("shop", 7), Stored: []byte("a"), Newest: 7}, false, ErrOtherContent, "give this file the version 8"},
		"other content, older":   {brought(7, "b"), Known{Head: head("shop", 9), Stored: []byte("a"), Newest: 9}, false, ErrOtherContent, "give this file the version 10"},
		"empty content":          {brought(7, "b"), Known{Head: head("shop", 7), Stored: []byte{}, Newest: 7}, false, ErrOtherContent, "version 8"},
		"back":                   {brought(7, "a"), Known{Head: head("shop", 9), Stored: []byte("a"), Newest: 9}, false, ErrOlder, "to go back to the content of shop@7, give it the version 10"},
		"back, never stored":     {brought(8, "a"), Known{Head: head("shop", 9), Newest: 9}, false, ErrOlder, "shop@9 was in force already"},
		"another name":           {brought(1, "a"), Known{Head: head("builtin", 3)}, true, nil, ""},
		"a name from before":     {brought(3, "a"), Known{Head: head("other", 1), Stored: []byte("a"), Newest: 3}, false, ErrOlder, "version 4"},
		"a newer one of a name":  {brought(4, "a"), Known{Head: head("other", 1), Newest: 3}, true, nil, ""},
		"stored, never in force": {brought(4, "a"), Known{Head: head("shop", 3), Stored: []byte("a"), Newest: 3}, true, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			changes, err := Succeed(c.brought, c.known)
			if changes != c.changes || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Fatalf("%v, %v", changes, err)
			}
			if err != nil && (fault.CodeOf(err) != fault.State || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("says %v", err)
			}
		})
	}
}

// The gateway's own policy takes nobody's place: an older release that starts beside a newer one leaves it, too.
func TestSuccessionOfTheBuiltin(t *testing.T) {
	own := Version{"builtin", 2, []byte("a")}
	for name, c := range map[string]struct {
		known   Known
		changes bool
	}{
		"the first":         {Known{}, true},
		"a file's in force": {Known{Head: head("shop", 1), Newest: 1}, false},
		"an older one":      {Known{Head: head("builtin", 1), Newest: 1}, true},
		"a newer one":       {Known{Head: head("builtin", 3), Newest: 3}, false},
		"the same":          {Known{Head: head("builtin", 2), Stored: []byte("a"), Newest: 2}, false},
	} {
		if changes, err := SucceedBuiltin(own, c.known); changes != c.changes || err != nil {
			t.Errorf("%s: %v, %v", name, changes, err)
		}
	}
}
