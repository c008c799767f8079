package fault

import "testing"

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "key", 3}, {"key", "", 3}, {"window", "window", 0}, {"windw", "window", 1},
		{"monitr", "monitor", 1}, {"kodes", "codes", 1}, {"sitting", "kitten", 3}, {"kitten", "sitting", 3},
	} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
