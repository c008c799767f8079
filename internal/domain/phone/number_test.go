package phone

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// Whatever prints, logs or marshals a number shows the masked form.
//
// covers: D15
func TestNumbersMaskThemselves(t *testing.T) {
	n, err := Parse("+12025550143", "")
	if err != nil {
		t.Fatal(err)
	}
	type holder struct {
		To  Number
		Ptr *Number
	}
	var b bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%T %v"} {
		fmt.Fprintf(&b, verb+"\n", n, n)
		fmt.Fprintf(&b, verb+"\n", holder{n, &n}, holder{n, &n})
	}
	for _, h := range []slog.Handler{slog.NewJSONHandler(&b, nil), slog.NewTextHandler(&b, nil)} {
		slog.New(h).Info("sent", "to", n, "also", holder{n, &n})
	}
	if err := json.NewEncoder(&b).Encode(map[Number]holder{n: {n, &n}}); err != nil {
		t.Fatal(err)
	}
	if out := b.String(); strings.Contains(out, "5550") || !strings.Contains(out, "+1202•••0143") {
		t.Errorf("not masked:\n%s", out)
	}
	if n.E164() != "+12025550143" {
		t.Errorf("clear text is %q", n.E164())
	}
}

func TestMask(t *testing.T) {
	for e164, want := range map[string]string{
		"": "", "+6834000": "+68•••00", "+354123456": "+35•••56", "+3541234567": "+3541•••4567", "+883510000000123": "+8835•••0123",
	} {
		if got := (Number{e164}).String(); got != want {
			t.Errorf("%s masked as %s, want %s", e164, got, want)
		}
	}
}
